import type { Page, Paging } from './operator.ts';

/** `unknown`: its lease ended without an outcome, or it was told that nobody knows. */
export const IDEMPOTENCY_STATUSES = ['processing', 'completed', 'failed', 'unknown'] as const;

export type IdempotencyStatus = (typeof IDEMPOTENCY_STATUSES)[number];

/** One idempotency record. The key itself is not kept, only its hash. */
export interface IdempotencyRecord {
  readonly id: string;
  readonly domain: string;
  readonly status: IdempotencyStatus;
  /** How many claims were granted. */
  readonly run: number;
  readonly leaseUntil: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date;
  readonly hasReply: boolean;
}

/** One durable command, without its payload. */
export interface CommandRecord {
  readonly id: string;
  readonly service: string;
  readonly name: string;
  readonly target: string;
  readonly module: string;
  readonly state: string;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly closedAt: Date | undefined;
}

/** One outgoing call, as a service recorded it. */
export interface OutgoingCall {
  readonly id: string;
  readonly at: Date;
  readonly service: string;
  readonly operation: string;
  /** As the service named it, or the host of its URL. */
  readonly destination: string | undefined;
  readonly isOk: boolean | undefined;
  readonly status: number | undefined;
  readonly durationMs: number | undefined;
  readonly attempt: number | undefined;
  readonly error: string | undefined;
}

/**
 * What is kept besides messages. A call reads a bounded number of rows, whatever the filter: `next` with few items, or none, means that
 * there may be more further back.
 */
export interface KeptLists {
  /** The last claimed first, among those that are kept equally long. */
  idempotencyRecords(
    filter?: Paging & { readonly status?: IdempotencyStatus | undefined; readonly domain?: string | undefined },
  ): Promise<Page<IdempotencyRecord>>;
  /** The newest first. */
  commands(
    filter?: Paging & {
      readonly state?: string | undefined;
      readonly name?: string | undefined;
      readonly target?: string | undefined;
    },
  ): Promise<Page<CommandRecord>>;
  /** The newest first. */
  outgoingCalls(
    filter?: Paging & {
      readonly service?: string | undefined;
      readonly destination?: string | undefined;
      readonly isOk?: boolean | undefined;
    },
  ): Promise<Page<OutgoingCall>>;
}
