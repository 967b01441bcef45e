import type { Filter } from 'mongodb';
import { OptionCheck } from '../../kernel/check-options.ts';
import { checkList } from '../../operator/check-request.ts';
import {
  IDEMPOTENCY_STATUSES,
  type IdempotencyRecord,
  type IdempotencyStatus,
  type KeptLists,
} from '../../operator/kept-lists.ts';
import type { Page } from '../../operator/operator.ts';
import type { RecordDocument } from '../record-document.ts';
import { type OperatorParts, serverTime } from './operator-parts.ts';

type RecordFilter = NonNullable<Parameters<KeptLists['idempotencyRecords']>[0]>;

/** A call looks at so many records at most. */
const MOST_LOOKED_AT = 10_000;

/** By when they are to be forgotten, along the index that is there for that: of what is kept equally long the last claim comes first. */
export async function listRecords(parts: OperatorParts, filter: RecordFilter): Promise<Page<IdempotencyRecord>> {
  const { status, domain, limit = 100, cursor } = filter;
  checkList('idempotencyRecords', filter, { status, domain });
  const check = new OptionCheck('idempotencyRecords()');
  if (status !== undefined) check.word('status', status, IDEMPOTENCY_STATUSES);
  const [, ms, id] = (cursor === undefined ? undefined : /^(\d{1,16})~(.{1,300})$/s.exec(cursor)) ?? [];
  if (cursor !== undefined && id === undefined)
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
  check.done();
  const now = await serverTime(parts);
  const at = ms === undefined ? undefined : new Date(Number(ms));
  const wanted: Filter<RecordDocument> = {
    ttlAt: { $gt: now, ...(at && { $lte: at }) },
    ...(at && id !== undefined && { $nor: [{ ttlAt: at, _id: { $gte: id } }] }),
  };
  const items: IdempotencyRecord[] = [];
  let last: RecordDocument | undefined;
  let looked = 0;
  for await (const record of parts.records
    .find(wanted, { projection: { response: 0 } })
    .sort({ ttlAt: -1, _id: -1 })
    .limit(MOST_LOOKED_AT)) {
    looked += 1;
    const shown = statusOf(record, now);
    if ((status === undefined || shown === status) && (domain === undefined || record.domain === domain)) {
      if (items.length === limit && last) return { items, next: cursorOf(last) };
      items.push(shownRecord(record, shown));
    }
    last = record;
  }
  return { items, next: looked === MOST_LOOKED_AT && last ? cursorOf(last) : undefined };
}

function cursorOf({ ttlAt, _id: id }: RecordDocument): string {
  return `${ttlAt.getTime()}~${id}`;
}

function statusOf({ status, leaseUntil }: RecordDocument, now: Date): IdempotencyStatus {
  return status === 'processing' && leaseUntil <= now ? 'unknown' : status;
}

function shownRecord(record: RecordDocument, status: IdempotencyStatus): IdempotencyRecord {
  const { _id: id, domain, run, leaseUntil, createdAt, updatedAt, ttlAt, head } = record;
  return { id, domain, status, run, leaseUntil, createdAt, updatedAt, expiresAt: ttlAt, hasReply: head !== null };
}
