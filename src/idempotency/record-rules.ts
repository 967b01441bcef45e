import type {
  Claim,
  ClaimAnswer,
  EndAnswer,
  FinishedStatus,
  IdempotencyRecord,
  KeptReply,
  RunEnd,
} from './idempotency-store.ts';

/**
 * One record and what each step makes of it. Every store does exactly this, in its own language: the memory store calls these
 * functions, the script of Redis and the statements of PostgreSQL are checked against them. Times are the store's, in milliseconds.
 */
export interface StoredRecord {
  readonly id: string;
  readonly domain: string;
  readonly person: string | null;
  readonly fingerprint: string;
  readonly status: 'processing' | 'unknown' | FinishedStatus;
  /** Of the last claim, also after its end: it may ask again. */
  readonly owner: string;
  readonly run: number;
  readonly leaseUntil: number;
  readonly reply: KeptReply | null;
  /** The person was erased while it ran: no reply is kept. */
  readonly forget: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
}

/** What is answered, and what the record is then; `undefined`: there is none any more. */
export interface Step<Answer> {
  readonly answer: Answer;
  readonly record: StoredRecord | undefined;
}

/** The record, unless it has expired: then it is as if there were none, whether the store has removed it yet or not. */
export function liveRecord(found: StoredRecord | undefined, now: number): StoredRecord | undefined {
  return found !== undefined && found.expiresAt > now ? found : undefined;
}

/** Two run at once only if one of them has lost its lease: a claim is granted to one of all that ask. */
export function claimRecord(found: StoredRecord | undefined, claim: Claim, now: number): Step<ClaimAnswer> {
  const record = liveRecord(found, now);
  if (record === undefined) return { answer: { kind: 'claimed', run: 1 }, record: claimed(claim, 1, now, now) };
  if (record.fingerprint !== claim.fingerprint) return { answer: { kind: 'mismatch' }, record };
  if (record.status === 'completed' || record.status === 'failed') {
    const { status, reply, updatedAt, expiresAt } = record;
    return { answer: { kind: 'finished', status, reply, finishedAt: updatedAt, expiresAt }, record };
  }
  if (record.status === 'processing') {
    if (record.owner === claim.owner) {
      return { answer: { kind: 'claimed', run: record.run }, record: { ...record, leaseUntil: now + claim.leaseMs } };
    }
    if (record.leaseUntil > now) {
      return { answer: { kind: 'running', leaseLeftMs: Math.max(1, Math.ceil(record.leaseUntil - now)) }, record };
    }
  }
  if (!claim.takeUnknown) return { answer: { kind: 'unknown', run: record.run }, record };
  const run = record.run + 1;
  const next = { ...claimed(claim, run, record.createdAt, now), forget: record.forget };
  return { answer: { kind: 'claimed', run }, record: next };
}

export function renewRecord(stored: StoredRecord | undefined, claim: Claim, now: number): Step<boolean> {
  const found = liveRecord(stored, now);
  if (found?.owner !== claim.owner || found.status !== 'processing') return { answer: false, record: found };
  return { answer: true, record: { ...found, leaseUntil: now + claim.leaseMs, expiresAt: now + claim.keepMs } };
}

export function endRecord(stored: StoredRecord | undefined, claim: Claim, end: RunEnd, now: number): Step<EndAnswer> {
  const found = liveRecord(stored, now);
  if (found !== undefined && found.owner !== claim.owner) return { answer: 'late', record: found };
  // The first end counts, however often it is said.
  if (found !== undefined && found.status !== 'processing') return { answer: 'ended', record: found };
  if (end.kind === 'release') return { answer: 'ended', record: undefined };
  const base = found ?? claimed(claim, 1, now, now);
  const changed = { ...base, leaseUntil: now, updatedAt: now, expiresAt: now + claim.keepMs };
  if (end.kind === 'doubt') return { answer: 'ended', record: { ...changed, status: 'unknown' } };
  const reply = base.forget ? null : end.reply;
  return { answer: 'ended', record: { ...changed, status: end.status, reply } };
}

export function eraseRecord(found: StoredRecord): StoredRecord {
  const forget = found.status === 'processing' || found.status === 'unknown';
  return { ...found, person: null, reply: null, forget };
}

/** What operators see of a record. A lease that has ended without an end is an unknown outcome, whoever looks. */
export function shownRecord(record: StoredRecord, now: number): IdempotencyRecord {
  const { id, domain, person, run, fingerprint, reply, createdAt, updatedAt, expiresAt } = record;
  const isUnknown = record.status === 'processing' && record.leaseUntil <= now;
  const status = isUnknown ? 'unknown' : record.status;
  return { id, domain, person, status, run, fingerprint, reply, createdAt, updatedAt, expiresAt };
}

function claimed(claim: Claim, run: number, createdAt: number, now: number): StoredRecord {
  const { id, domain, person, fingerprint, owner, leaseMs, keepMs } = claim;
  return {
    id,
    domain,
    person,
    fingerprint,
    status: 'processing',
    owner,
    run,
    leaseUntil: now + leaseMs,
    reply: null,
    forget: false,
    createdAt,
    updatedAt: now,
    expiresAt: now + keepMs,
  };
}
