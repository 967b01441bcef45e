import type { FetchedPartition, RecordsBatch } from './kafka-library.ts';

const TRANSACTIONAL = 0b1_0000;
const CONTROL = 0b10_0000;

/** One record and where it stands. */
export interface FoundRecord {
  readonly offset: bigint;
  readonly record: RecordsBatch['records'][number];
}

/**
 * The records of a fetched partition from an offset on, in order, without those of transactions that were given up. The broker names
 * those; where the mark that ends one is not among what was fetched, all of its records are left out to the end.
 */
export function committedRecords({ records, abortedTransactions }: FetchedPartition, from: bigint): FoundRecord[] {
  const aborted = [...(abortedTransactions ?? [])].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const givenUp = new Set<bigint>();
  const found: FoundRecord[] = [];
  for (const batch of records ?? []) {
    while (aborted[0] && aborted[0].firstOffset <= lastOffset(batch)) givenUp.add(aborted.shift()?.producerId ?? -1n);
    if (batch.attributes & CONTROL) {
      if (isAbort(batch)) givenUp.delete(batch.producerId);
      continue;
    }
    if (batch.attributes & TRANSACTIONAL && givenUp.has(batch.producerId)) continue;
    for (const record of batch.records) {
      const offset = batch.firstOffset + BigInt(record.offsetDelta);
      if (offset >= from) found.push({ offset, record });
    }
  }
  return found;
}

/** Where to read on: behind the last batch, also where it held nothing for us. */
export function nextOffset({ records }: FetchedPartition, from: bigint): bigint {
  const last = records?.at(-1);
  const next = last ? lastOffset(last) + 1n : from;
  return next > from ? next : from;
}

function lastOffset({ firstOffset, lastOffsetDelta }: RecordsBatch): bigint {
  return firstOffset + BigInt(lastOffsetDelta);
}

/** A control record's key: its version, then 0 for a transaction that was given up. */
function isAbort({ records }: RecordsBatch): boolean {
  const key = records[0]?.key;
  return !!key && key[2] === 0 && key[3] === 0;
}
