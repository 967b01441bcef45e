/** Somebody who wants to be told: an address, secrets, and which events. */
export interface WebhookEndpointRecord {
  readonly id: string;
  readonly url: string;
  readonly description?: string | undefined;
  /** Types of events, `order.*` for all below; empty: all. */
  readonly eventTypes: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** How often an event is tried again, and when, in seconds. Default: 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. */
  readonly retrySeconds: readonly number[];
  readonly timeoutMs?: number | undefined;
  readonly ratePerSecond?: number | undefined;
  readonly state: 'enabled' | 'disabled';
  /** Why it is disabled: by hand, it answered 410, or it did nothing but fail for days. */
  readonly disabledBecause?: 'operator' | 'gone' | 'failing' | undefined;
  readonly disabledAt?: Date | undefined;
  readonly failingSince?: Date | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface WebhookEndpointInput {
  readonly url: string;
  readonly description?: string | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly retrySeconds?: readonly number[] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly ratePerSecond?: number | undefined;
  /** `whsec_` and 24 to 64 bytes in base64. Default: a new one. */
  readonly secret?: string | undefined;
}

/** What is left out stays as it is; null: as if it had never been given. */
export type WebhookEndpointChange = {
  readonly [K in Exclude<keyof WebhookEndpointInput, 'secret' | 'url'>]?: WebhookEndpointInput[K] | null;
} & { readonly url?: string | undefined };

/** Who changes something and why, for the audit. */
export interface ChangedBy {
  readonly actor: string;
  readonly reason?: string | undefined;
}

export type EndpointOutcome =
  | { readonly kind: 'done'; readonly endpoint: WebhookEndpointRecord }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'refused'; readonly message: string };

/** An event for everybody who wants it. */
export interface WebhookEvent {
  readonly type: string;
  /** JSON. */
  readonly data: unknown;
  readonly occurredAt?: Date | undefined;
  /** A second one with the same id is not sent again. */
  readonly eventId?: string | undefined;
}

/** What became of an event. `isDuplicate`: it was sent before, the messages are those of then. */
export interface WebhookSent {
  readonly eventId: string;
  /** One for each endpoint. */
  readonly messageIds: readonly string[];
  readonly isDuplicate: boolean;
}

/**
 * Registered endpoints, told by Standard Webhooks. Changes are audited. What an event was sent as stays with its messages; the address,
 * the headers, the secrets and the timeout are those the endpoint has when an attempt begins.
 */
export interface WebhookEndpoints {
  list(): Promise<readonly WebhookEndpointRecord[]>;
  get(id: string): Promise<WebhookEndpointRecord | undefined>;
  create(input: WebhookEndpointInput, by: ChangedBy): Promise<EndpointOutcome>;
  update(id: string, change: WebhookEndpointChange, by: ChangedBy): Promise<EndpointOutcome>;
  /** What waits for it is cancelled. False: there is none. */
  delete(id: string, by: ChangedBy): Promise<boolean>;
  /** What waited for it goes on. */
  enable(id: string, by: ChangedBy): Promise<EndpointOutcome>;
  /** What waits for it goes on waiting; events that are sent from now on are not for it. */
  disable(id: string, by: ChangedBy): Promise<EndpointOutcome>;
  /** The secrets that sign now, the newest first. That they were read is audited. */
  secrets(id: string, by?: ChangedBy): Promise<readonly string[] | undefined>;
  /** A new secret; those before sign too for `graceHours` (default 24, at most 168; 0: not at all). */
  rotateSecret(
    id: string,
    by: ChangedBy,
    options?: { readonly graceHours?: number | undefined; readonly secret?: string | undefined },
  ): Promise<
    | { readonly kind: 'rotated'; readonly secret: string; readonly oldUntil: Date | undefined }
    | { readonly kind: 'not-found' }
    | { readonly kind: 'refused'; readonly message: string }
  >;
  /**
   * Sends to all that are enabled and want it, in one commit; with `to`, to that one alone, whatever it wants. Throws `INVALID_OPTIONS`
   * for what is no event. `by`: the operator who sends it, audited.
   */
  send(
    event: WebhookEvent,
    options?: { readonly to?: string | undefined; readonly by?: ChangedBy | undefined },
  ): Promise<WebhookSent>;
  /** Sends a message of this endpoint once more, under its id, whether it had failed or was delivered. False: there is none. */
  resend(id: string, messageId: string, by: ChangedBy): Promise<boolean>;
  /** Puts all that failed since then back in line; answers how many. Nothing: there is no such endpoint. */
  recover(id: string, since: Date, by: ChangedBy): Promise<number | undefined>;
}
