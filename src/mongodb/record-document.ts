import type { KeptReply } from '../idempotency/idempotency-store.ts';
import type { StoredRecord } from '../idempotency/record-rules.ts';
import { jsonText, type StoredJson, storedJson } from './stored-json.ts';

/** A reply as it lies in a record. */
export interface StoredReply {
  /** What was answered: JSON as an object or a list, other texts as they are, bytes that are no text as bytes. */
  readonly response: StoredJson | Uint8Array | null;
  /** The status of HTTP, or that of gRPC. */
  readonly statusCode: number | null;
  /** What else belongs to it, as JSON text; `VALUE`: it is a value and nothing else. `null`: no reply is kept. */
  readonly head: string | null;
}

/** A record as it lies in the collection. Times are dates, by the clock of the server. */
export interface RecordDocument extends StoredReply {
  readonly _id: string;
  readonly domain: string;
  readonly person: string | null;
  /** The fingerprint: a digest of the normalised request. */
  readonly requestHash: string;
  readonly status: StoredRecord['status'];
  readonly owner: string;
  readonly run: number;
  readonly leaseUntil: Date;
  readonly forget: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** From when on it is as if there were no record; the server removes it after that. */
  readonly ttlAt: Date;
}

/** A record as it was before a step, and the time of that step. */
export interface SeenRecord {
  readonly record: RecordDocument;
  readonly now: Date;
}

/** What makes a `SeenRecord` of a document. */
export const SEEN = { _id: 0, record: '$$ROOT', now: '$$NOW' } as const;

/** Of a record without a reply. */
export const NO_REPLY: StoredReply = { response: null, statusCode: null, head: null };

/** No JSON: a head that is kept as it was is. */
const VALUE = 'value';
const BEFORE_VALUE = '{"value":';

/** The record as the rules know it. */
export function storedOf({ record }: SeenRecord): StoredRecord {
  const {
    _id: id,
    requestHash,
    response,
    statusCode: _,
    head,
    leaseUntil,
    createdAt,
    updatedAt,
    ttlAt,
    ...rest
  } = record;
  return {
    ...rest,
    id,
    fingerprint: requestHash,
    reply: head === null ? null : readReply(head, response),
    leaseUntil: leaseUntil.getTime(),
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
    expiresAt: ttlAt.getTime(),
  };
}

/** A reply as it is written; `readReply` gives the same back, byte by byte. */
export function storedReply({ head, body }: KeptReply): StoredReply {
  const { status, code, ...rest } = JSON.parse(head) as Record<string, unknown>;
  if (body === undefined && Object.keys(rest).join() === 'value' && head.startsWith(BEFORE_VALUE))
    return { response: storedJson(head.slice(BEFORE_VALUE.length, -1)), statusCode: null, head: VALUE };
  const statusCode = [status, code].find((one) => typeof one === 'number') ?? null;
  return { response: body === undefined ? null : storedBody(body), statusCode, head };
}

function readReply(head: string, response: StoredReply['response']): KeptReply {
  if (response === null) return { head, body: undefined };
  if (response instanceof Uint8Array) return { head, body: new Uint8Array(response) };
  const text = jsonText(response);
  if (head === VALUE) return { head: `${BEFORE_VALUE}${text}}`, body: undefined };
  return { head, body: new TextEncoder().encode(text) };
}

function storedBody(body: Uint8Array): StoredJson | Uint8Array {
  try {
    return storedJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return body;
  }
}
