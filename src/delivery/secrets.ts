/** The keys that deliveries are signed by: `sig_…`. Encrypted where they are kept. */
export interface SigningKeys {
  get(): Promise<{ readonly current: string; readonly next: string }>;
  /** The next becomes the current one, and a new one is next. */
  rotate(): Promise<{ readonly current: string; readonly next: string }>;
}

/** What a token lets do: publish and read one's own; operate also pauses, cancels, replays; admin also keys and tokens. */
export const SCOPES = ['publish', 'operate', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

export interface ApiTokenRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly lastUsedAt?: Date | undefined;
  /** Everybody knows it, as that of development: it proves nothing, and is taken from the header alone. Default false. */
  readonly isPublic?: boolean | undefined;
}

/** Tokens of the API. Only their hashes are kept. */
export interface ApiTokens {
  /** Shown once. */
  create(name: string, scopes: readonly Scope[]): Promise<{ readonly id: string; readonly token: string }>;
  list(): Promise<readonly ApiTokenRecord[]>;
  revoke(id: string): Promise<boolean>;
  /** Nothing: nobody we know. Kept in memory for a few seconds. */
  verify(token: string): Promise<ApiTokenRecord | undefined>;
}
