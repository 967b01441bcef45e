import { describe, expect, test } from 'vitest';
import { committedRecords, nextOffset } from './committed-records.ts';
import type { RecordsBatch } from './kafka-library.ts';

const [TRANSACTIONAL, CONTROL] = [16, 32];

function batch(firstOffset: number, count: number, producer: number, attributes: number, key?: Buffer): RecordsBatch {
  const empty = { key: key ?? null, value: null, headers: [] };
  const records = Array.from({ length: count }, (_, offsetDelta) => ({ offsetDelta, ...empty }));
  const of = { firstOffset: BigInt(firstOffset), lastOffsetDelta: count - 1, producerId: BigInt(producer) };
  return { ...of, attributes, records };
}

const end = (offset: number, producer: number, isKept: boolean): RecordsBatch =>
  batch(offset, 1, producer, TRANSACTIONAL | CONTROL, Buffer.from([0, 0, 0, isKept ? 1 : 0]));
const given = (...aborted: readonly [producer: number, first: number][]): object =>
  aborted.map(([producer, first]) => ({ producerId: BigInt(producer), firstOffset: BigInt(first) }));

function offsets(records: readonly RecordsBatch[], aborted: object = [], from = 0): readonly number[] {
  const fetched = { partitionIndex: 0, records, abortedTransactions: aborted as [] };
  return committedRecords(fetched, BigInt(from)).map(({ offset }) => Number(offset));
}

describe('what was fetched of a partition', () => {
  test('is all of it, without what stands before the offset that was asked for [S1.5]', () => {
    expect(offsets([batch(0, 3, 1, 0), batch(3, 2, 1, 0)], [], 1)).toEqual([1, 2, 3, 4]);
    expect(offsets([])).toEqual([]);
  });

  test('has nothing of a transaction that was given up, and all of the next one of the same producer [S1.5]', () => {
    const records = [
      batch(0, 2, 1, TRANSACTIONAL),
      batch(2, 1, 2, TRANSACTIONAL),
      end(3, 1, false),
      batch(4, 1, 1, TRANSACTIONAL),
      end(5, 2, true),
      end(6, 1, true),
    ];
    expect(offsets(records, given([1, 0]))).toEqual([2, 4]);
  });

  test('has nothing of two transactions that one producer gave up, also where the last is not ended in it [S1.5]', () => {
    const records = [batch(0, 1, 1, TRANSACTIONAL), end(1, 1, false), batch(2, 1, 9, 0), batch(3, 1, 1, TRANSACTIONAL)];
    expect(offsets(records, given([1, 0], [1, 3]))).toEqual([2]);
  });

  test('is read on behind the last of it, also where that held nothing [S1.5]', () => {
    const records = [batch(4, 2, 1, 0), end(6, 1, true)];
    expect(nextOffset({ partitionIndex: 0, records }, 4n)).toBe(7n);
    expect(nextOffset({ partitionIndex: 0, records: [] }, 4n)).toBe(4n);
  });
});
