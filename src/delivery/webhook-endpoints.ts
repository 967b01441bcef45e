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

/** Registered endpoints, told by Standard Webhooks. */
export interface WebhookEndpoints {
  list(): Promise<readonly WebhookEndpointRecord[]>;
  get(id: string): Promise<WebhookEndpointRecord | undefined>;
  create(input: WebhookEndpointInput): Promise<EndpointOutcome>;
  update(id: string, change: Partial<WebhookEndpointInput>): Promise<EndpointOutcome>;
  delete(id: string): Promise<boolean>;
  enable(id: string): Promise<EndpointOutcome>;
  disable(id: string): Promise<EndpointOutcome>;
  /** The secrets that sign now, the newest first. */
  secrets(id: string): Promise<readonly string[] | undefined>;
  /** A new secret; the one before signs too for `graceHours` (default 24, at most 168). */
  rotateSecret(id: string, graceHours?: number, secret?: string): Promise<{ readonly secret: string } | undefined>;
  /** Sends to all that are enabled and want it; answers the ids of the messages. */
  send(
    event: WebhookEvent,
  ): Promise<{ readonly eventId: string; readonly messageIds: readonly string[]; readonly isDuplicate: boolean }>;
  /** Sends a message of this endpoint once more, under its id. */
  resend(id: string, messageId: string): Promise<boolean>;
  /** Puts all that failed since then back in line; answers how many. */
  recover(id: string, since: Date): Promise<number | undefined>;
}
