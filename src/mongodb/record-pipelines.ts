import type { Document } from 'mongodb';
import type { Claim, RunEnd } from '../idempotency/idempotency-store.ts';
import { NO_REPLY, storedReply } from './record-document.ts';

/*
 * Each step is one update whose pipeline decides and writes at once, by the clock of the server: nobody comes in between. The rules are
 * those of src/idempotency/record-rules.ts, line by line; what is answered is computed by those themselves, from the record as
 * it was before.
 */

const NOW = '$$NOW';
// Of a record that is being made there is no field yet, and nothing that is missing is greater than a date.
const IS_LIVE: Document = { $gt: ['$ttlAt', NOW] };
const IS_OVER: Document = { $lte: ['$leaseUntil', NOW] };

/** Claims: makes the record, takes it over, holds it again, or leaves it. */
export function claimPipeline(claim: Claim): Document[] {
  const isSame: Document = { $eq: ['$requestHash', text(claim.fingerprint)] };
  const isRunning: Document = { $eq: ['$status', 'processing'] };
  const isMine: Document = { $eq: ['$owner', text(claim.owner)] };
  const isLost: Document = {
    $or: [{ $eq: ['$status', 'unknown'] }, { $and: [isRunning, { $not: [isMine] }, IS_OVER] }],
  };
  const heir = { ...claimed(claim), run: { $add: ['$run', 1] }, createdAt: '$createdAt', forget: '$forget' };
  return choose([
    [{ $not: [IS_LIVE] }, claimed(claim)],
    [{ $and: [isSame, isRunning, isMine] }, changed({ leaseUntil: after(claim.leaseMs) })],
    [{ $and: [isSame, isLost, claim.takeUnknown] }, heir],
  ]);
}

/** Renews what is still its own; to be used with `renewable`. */
export function renewPipeline({ leaseMs, keepMs }: Claim): Document[] {
  return [{ $set: { leaseUntil: after(leaseMs), ttlAt: after(keepMs) } }];
}

/** Finds the record of a claim that may be renewed. */
export function renewable({ id, owner }: Claim): Document {
  return { _id: id, owner, status: 'processing', $expr: IS_LIVE };
}

/** Ends a run. What vanished is made anew, so that what was done is known. */
export function endPipeline(claim: Claim, end: RunEnd): Document[] {
  const isOpen: Document = {
    $and: [IS_LIVE, { $eq: ['$owner', text(claim.owner)] }, { $eq: ['$status', 'processing'] }],
  };
  // As if there were none from now on; the server takes it away in its time.
  if (end.kind === 'release') return choose([[isOpen, changed({ ttlAt: NOW })]]);
  const times = { leaseUntil: NOW, updatedAt: NOW, ttlAt: after(claim.keepMs) };
  const outcome = (forget: Document | false): Document => {
    if (end.kind === 'doubt') return { status: 'unknown', ...times };
    const kept = Object.entries(storedReply(end.reply)).map(([field, value]: [string, unknown]) => [
      field,
      { $cond: [forget, null, { $literal: value }] },
    ]);
    return { status: end.status, ...times, ...(Object.fromEntries(kept) as Document) };
  };
  return choose([
    [{ $not: [IS_LIVE] }, { ...claimed(claim), ...outcome(false) }],
    [isOpen, changed(outcome({ $eq: ['$forget', true] }))],
  ]);
}

/** Forgets a person, and what was answered. */
export const ERASE: Document[] = [
  { $set: { person: null, ...NO_REPLY, forget: { $in: ['$status', ['processing', 'unknown']] } } },
];

/** Finds what is a person's: what counts, or all of it. */
export function ofPerson(person: string, which: 'live' | 'all'): Document {
  return which === 'live' ? { person, $expr: IS_LIVE } : { person };
}

function choose(branches: readonly (readonly [when: Document, result: Document])[]): Document[] {
  const chosen = branches.reduceRight<Document | string>(
    (rest, [when, result]) => ({ $cond: [when, result, rest] }),
    '$$ROOT',
  );
  return [{ $replaceWith: chosen }];
}

function changed(fields: Document): Document {
  return { $mergeObjects: ['$$ROOT', fields] };
}

function claimed({ id, domain, person, fingerprint, owner, leaseMs, keepMs }: Claim): Document {
  return {
    _id: text(id),
    domain: text(domain),
    person: text(person),
    requestHash: text(fingerprint),
    status: 'processing',
    owner: text(owner),
    run: 1,
    leaseUntil: after(leaseMs),
    ...NO_REPLY,
    forget: false,
    createdAt: NOW,
    updatedAt: NOW,
    ttlAt: after(keepMs),
  };
}

function after(ms: number): Document {
  return { $add: [NOW, ms] };
}

/** What begins with a dollar sign would be read as a field. */
function text(value: string | null): Document {
  return { $literal: value };
}
