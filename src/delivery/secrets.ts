import type { ChangedBy } from './webhook-endpoints.ts';

/**
 * The keys that the deliveries of a tenant are signed by: `sig_…`. Encrypted where they are kept. Who reads or rotates them is audited.
 */
export interface SigningKeys {
  get(tenant?: string, by?: ChangedBy): Promise<{ readonly current: string; readonly next: string }>;
  /** The next becomes the current one, and a new one is next. */
  rotate(tenant?: string, by?: ChangedBy): Promise<{ readonly current: string; readonly next: string }>;
}

/** What a token lets do: publish and read one's own; operate also pauses, cancels, replays; admin also keys and tokens. */
export const SCOPES = ['publish', 'operate', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

export interface ApiTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Whose messages, queues and keys it leads to: those of no other tenant. */
  readonly tenant: string;
  readonly createdAt: Date;
  readonly lastUsedAt?: Date | undefined;
  /** Everybody knows it, as that of development: it proves nothing, and is taken from the header alone. Default false. */
  readonly isPublic?: boolean | undefined;
}

/** Tokens of the API. Only their hashes are kept. */
export interface ApiTokens {
  /** Shown once. For the tenant `default` unless another is named. Audited. */
  create(
    name: string,
    scopes: readonly Scope[],
    options?: { readonly tenant?: string | undefined; readonly by?: ChangedBy | undefined },
  ): Promise<{ readonly id: string; readonly token: string }>;
  list(): Promise<readonly ApiTokenRecord[]>;
  /** Audited. */
  revoke(id: string, by?: ChangedBy): Promise<boolean>;
  /** Nothing: nobody we know. Kept in memory for a few seconds. */
  verify(token: string): Promise<ApiTokenRecord | undefined>;
}
