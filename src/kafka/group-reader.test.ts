import { expect, test } from 'vitest';
import { systemEffects } from '../system/effects.ts';
import { GroupReader } from './group-reader.ts';
import type { KafkaConsumer } from './kafka-library.ts';

const record = { offsetDelta: 0, key: null, value: Buffer.from('{}'), headers: [] };
const batch = { firstOffset: 0n, lastOffsetDelta: 0, attributes: 0, producerId: -1n, records: [record] };

/** A client whose one partition holds one record, and what it was asked to commit. */
function scripted(committed: bigint[]): KafkaConsumer {
  const listeners = new Map<string, (of: unknown) => void>();
  const answers = [{ responses: [{ topicId: 'id', partitions: [{ partitionIndex: 0, records: [batch] }] }] }];
  return {
    assignments: [{ topic: 'order', partitions: [0] }],
    topics: { has: () => false, track: () => undefined },
    connections: [],
    metadata: async () => ({
      topics: new Map([['order', { id: 'id', partitionsCount: 1, partitions: [{ leader: 1 }] }]]),
    }),
    joinGroup: async () => listeners.get('consumer:group:join')?.({}),
    fetch: () => Promise.resolve(answers.shift() ?? new Promise<never>(() => undefined)),
    commit: async ({ offsets }) => void committed.push(...offsets.map(({ offset }) => offset)),
    listCommittedOffsets: async () => new Map([['order', [-1n]]]),
    listOffsets: async ({ timestamp }) => new Map([['order', [timestamp === -2n ? 0n : 1n]]]),
    on: (event, listener) => listeners.set(event, listener),
    close: async () => undefined,
  };
}

async function readWhileBatchTakes(ms: number): Promise<{ committed: bigint[]; lost: unknown[] }> {
  const committed: bigint[] = [];
  const lost: unknown[] = [];
  let wallMs = 1_000_000;
  const stored = Promise.withResolvers<void>();
  const effects = { ...systemEffects, now: () => ({ wallMs, monoMs: 0 }) };
  const onBatch = async (): Promise<void> => {
    wallMs += ms;
    stored.resolve();
  };
  const onLost = (error: unknown): void => void lost.push(error);
  const request = { group: 'mail', types: ['order.placed'], isDead: false, onBatch, onPlace: () => undefined, onLost };
  const reader = new GroupReader(scripted(committed), scripted([]), { request, topics: ['order'], effects });
  await reader.start();
  await stored.promise;
  await expect.poll(() => committed.length + lost.length).toBe(1);
  await reader.stop();
  return { committed, lost };
}

test('what is stored is committed, also when that took a while [S0.8]', async () => {
  expect(await readWhileBatchTakes(15_000)).toEqual({ committed: [1n], lost: [] });
});

test('a consumer that stood still for longer than the group waits for it commits nothing: others have read on [S0.8]', async () => {
  const { committed, lost } = await readWhileBatchTakes(86_400_000);
  expect([committed, lost.map(String)]).toEqual([[], [expect.stringContaining('did not answer within 20000 ms')]]);
});
