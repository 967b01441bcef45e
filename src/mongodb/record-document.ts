import type { StoredRecord } from '../idempotency/record-rules.ts';

/** A record as it lies in the collection. Times are dates, by the clock of the server. */
export interface RecordDocument {
  readonly _id: string;
  readonly domain: string;
  readonly person: string | null;
  readonly fingerprint: string;
  readonly status: StoredRecord['status'];
  readonly owner: string;
  readonly run: number;
  readonly leaseUntil: Date;
  /** What was answered, as JSON text; `null`: nothing is kept. */
  readonly head: string | null;
  readonly body: Uint8Array | null;
  readonly forget: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt: Date;
}

/** A record as it was before a step, and the time of that step. */
export interface SeenRecord {
  readonly record: RecordDocument;
  readonly now: Date;
}

/** What makes a `SeenRecord` of a document. */
export const SEEN = { _id: 0, record: '$$ROOT', now: '$$NOW' } as const;

/** The record as the rules know it. */
export function storedOf({ record }: SeenRecord): StoredRecord {
  const { _id: id, head, body, leaseUntil, createdAt, updatedAt, expiresAt, ...rest } = record;
  return {
    ...rest,
    id,
    reply: head === null ? null : { head, body: body === null ? undefined : new Uint8Array(body) },
    leaseUntil: leaseUntil.getTime(),
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
    expiresAt: expiresAt.getTime(),
  };
}
