import { expect, test } from 'vitest';
import { systemEffects } from '../system/effects.ts';
import { virtualTime } from '../testing/virtual-time.ts';
import { BATCH_BYTES, BatchLimit } from '../transport/batch-limit.ts';
import type { ConsumeRequest } from '../transport/broker.ts';
import { GroupReader } from './group-reader.ts';
import type { GroupOffsets } from './group-offsets.ts';
import type { KafkaConsumer } from './kafka-library.ts';

type Commit = (offset: bigint) => Promise<unknown>;

/** Nothing was committed, and what is done when something is. */
function scriptedOffsets(commit: Commit): GroupOffsets {
  return {
    committed: async () => new Map(),
    commit: async (positions) => {
      for (const { next } of positions) await commit(next);
    },
  };
}

/** A client whose one partition holds so many records. */
function scripted(count: number): KafkaConsumer {
  const listeners = new Map<string, (of: unknown) => void>();
  const records = Array.from({ length: count }, (_, offsetDelta) => ({
    offsetDelta,
    key: null,
    value: Buffer.from('{}'),
    headers: [],
  }));
  const batch = { firstOffset: 0n, lastOffsetDelta: count - 1, attributes: 0, producerId: -1n, records };
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
    groupId: 'mail',
    generationId: 1,
    memberId: 'one',
    findGroupCoordinator: async () => 1,
    connectToBrokers: async () => new Map(),
    listApis: async () => [],
    listOffsets: async ({ timestamp }) => new Map([['order', [timestamp === -2n ? 0n : BigInt(count)]]]),
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
  const commit: Commit = async (offset) => committed.push(offset);
  const offsets = scriptedOffsets(commit);
  const options = {
    request,
    topics: ['order'],
    effects,
    offsets,
    lastIds: new Map<string, string>(),
    limit: new BatchLimit(effects),
  };
  const reader = new GroupReader(scripted(1), scripted(1), options);
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

test('a part is stored while the one before it is committed, and commits go out one after the other [S0.8]', async () => {
  const told: string[] = [];
  const answers: (() => void)[] = [];
  const commit: Commit = (offset) => {
    told.push(`commit ${offset}`);
    return new Promise<void>((resolve) => answers.push(resolve));
  };
  const onBatch = async (batch: readonly unknown[]): Promise<void> => void told.push(`store ${batch.length}`);
  const reader = await readingOf(1_200, { commit, onBatch });
  await expect.poll(() => told).toEqual(['store 500', 'commit 500', 'store 500']);
  answers.shift()?.();
  await expect.poll(() => told.slice(3)).toEqual(['commit 1000', 'store 200']);
  answers.shift()?.();
  await expect.poll(() => told.slice(5)).toEqual(['commit 1200']);
  answers.shift()?.();
  await reader.stop();
});

test('a reader that is stopped stores no further part, and commits the one that was being stored [S0.8]', async () => {
  const told: string[] = [];
  const stored = Promise.withResolvers<void>();
  const commit: Commit = async (offset) => told.push(`commit ${offset}`);
  const onBatch = (batch: readonly unknown[]): Promise<void> => {
    told.push(`store ${batch.length}`);
    return stored.promise;
  };
  const reader = await readingOf(1_200, { commit, onBatch });
  await expect.poll(() => told).toEqual(['store 500']);
  const stopping = reader.stop();
  stored.resolve();
  await stopping;
  expect(told).toEqual(['store 500', 'commit 500']);
});

test('after a commit that failed nothing more is committed, and the consumer says that it is lost [S0.8]', async () => {
  const committed: bigint[] = [];
  const commit: Commit = async (offset) => {
    committed.push(offset);
    throw new Error('the group is another by now');
  };
  const lost = Promise.withResolvers<unknown>();
  const reader = await readingOf(1_200, { commit, onBatch: async () => undefined, onLost: lost.resolve });
  expect(String(await lost.promise)).toContain('the group is another by now');
  expect(committed).toEqual([500n]);
  await reader.stop();
});

test('a fetch that is late is repeated with half the bytes by the next reader [S0.8] [S1.5]', async () => {
  const effects = virtualTime();
  const limit = new BatchLimit(effects);
  const asked: (readonly [all: number | undefined, ofPartition: number | undefined])[] = [];
  const client = (): KafkaConsumer => ({
    ...scripted(1),
    fetch: ({ maxBytes, topics }) => {
      asked.push([maxBytes, topics[0]?.partitions[0]?.partitionMaxBytes]);
      return new Promise<never>(() => undefined);
    },
  });
  for (let n = 0; n < 4; n++) {
    const lost: string[] = [];
    const onLost = (error: unknown): void => void lost.push(String(error));
    const request = { ...REQUEST, onBatch: async () => undefined, onLost };
    const offsets = scriptedOffsets(async () => undefined);
    const options = { request, topics: ['order'], effects, offsets, lastIds: new Map<string, string>(), limit };
    const reader = new GroupReader(client(), client(), options);
    await effects.settle(reader.start());
    await effects.advance(10_000);
    expect(lost).toEqual([expect.stringContaining('did not answer within 10000 ms')]);
    await reader.stop();
  }
  expect(asked).toEqual([
    [BATCH_BYTES, 1_048_576],
    [BATCH_BYTES / 2, 1_048_576],
    [BATCH_BYTES / 4, 1_048_576],
    [BATCH_BYTES / 8, BATCH_BYTES / 8],
  ]);
});

test('partitions that are given out again while a batch is stored are not committed by the reader that had them [S0.8] [S1.5]', async () => {
  const committed: bigint[] = [];
  let looked = 0;
  const offsets: GroupOffsets = {
    committed: async () => {
      looked += 1;
      return new Map();
    },
    commit: async (positions) => void committed.push(...positions.map(({ next }) => next)),
  };
  const member = scripted(1);
  const request = { ...REQUEST, onBatch: async () => void (await member.joinGroup({})), onLost: () => undefined };
  const limit = new BatchLimit(systemEffects);
  const lastIds = new Map<string, string>();
  const options = { request, topics: ['order'], effects: systemEffects, offsets, lastIds, limit };
  const reader = new GroupReader(member, scripted(1), options);
  await reader.start();
  // It asks again where the group stands: what it has stored is another's by now.
  await expect.poll(() => looked).toBe(2);
  expect(committed).toEqual([]);
  await reader.stop();
});

const REQUEST = { group: 'mail', types: ['order.placed'], isDead: false, onPlace: () => undefined };

async function readingOf(
  count: number,
  {
    commit,
    onBatch,
    onLost = () => undefined,
  }: { commit: Commit; onBatch: ConsumeRequest['onBatch']; onLost?: ConsumeRequest['onLost'] },
): Promise<GroupReader> {
  const request = { group: 'mail', types: ['order.placed'], isDead: false, onBatch, onPlace: () => undefined, onLost };
  const options = {
    request,
    topics: ['order'],
    effects: systemEffects,
    offsets: scriptedOffsets(commit),
    lastIds: new Map<string, string>(),
    limit: new BatchLimit(systemEffects),
  };
  const reader = new GroupReader(scripted(count), scripted(count), options);
  await reader.start();
  return reader;
}
