import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import { JETSTREAM, type JetStreamManager, type StreamState } from './nats-library.ts';
import { Topology } from './topology.ts';

test('a stream that was there and is deleted is made again after two seconds: the server may still be removing its files [S1.5]', async () => {
  const effects = virtualTime();
  const options = { transport: 'nats', streamOf: () => 'order', prefix: '', declares: true, replicas: 1 };
  const topology = new Topology({ ...options, duplicateWindowMs: 120_000, keepMs: 1_000, effects });
  let found: StreamState | undefined;
  const madeAtMs: number[] = [];
  const manager = {
    streams: {
      info: async () => {
        if (found) return found;
        throw Object.assign(new Error('stream not found'), { code: JETSTREAM.STREAM_MISSING });
      },
      add: async (config: object) => {
        madeAtMs.push(effects.monoMs());
        return (found = { config, state: { first_seq: 1 } } as StreamState);
      },
    },
  } as unknown as JetStreamManager;
  const declare = (): Promise<void> => effects.settle(topology.declareStream(manager, 'order').catch(() => undefined));
  await declare();
  await declare();
  expect(madeAtMs).toEqual([0]);
  found = undefined;
  await declare();
  expect(madeAtMs).toEqual([0, 2_000]);
});
