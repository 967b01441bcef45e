import { expect, test } from 'vitest';
import { partitionOf } from './partition-of.ts';

// What BuiltInPartitioner.partitionForKey of Kafka's Java client (4.1.1) answers.
test.each([
  ['21', [0, 3, 340]],
  ['foobar', [0, 0, 166]],
  ['a-little-bit-long-string', [2, 1, 112]],
  ['abc', [0, 4, 107]],
  ['', [0, 2, 681]],
  ['größe/🦜 1', [0, 3, 752]],
  ['order-1', [1, 4, 326]],
  ['order-2', [0, 1, 643]],
])("the key %j stands in the partition that Kafka's Java client chooses for it [S1.5]", (key, partitions) => {
  expect([3, 7, 1000].map((count) => partitionOf(Buffer.from(key), count))).toEqual(partitions);
});

test('the partition of a key does not depend on where its bytes lie in memory [S1.5]', () => {
  const bytes = Buffer.from('..order-1..');
  expect(partitionOf(bytes.subarray(2, 9), 1000)).toBe(326);
});
