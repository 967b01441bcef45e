import { expect, test } from 'vitest';
import { systemEffects } from '../system/effects.ts';
import type { JetStreamMessage } from './nats-library.ts';
import { StreamReader, type StreamReaderOptions } from './stream-reader.ts';

const NANOS = 1_000_000;

/** A message that writes down what becomes of it. */
function message(seq: number, heard: string[]): JetStreamMessage {
  const note = (what: string) => (): void => void heard.push(`${what} ${seq}`);
  return {
    subject: 'order.placed',
    data: Buffer.from('{}'),
    timestampNanos: 0n,
    info: { stream: 'order', streamSequence: seq, deliverySequence: seq },
    ack: note('ack'),
    ackAck: async () => note('ack')(),
    nak: note('nak'),
    working: note('working'),
  };
}

interface Pauses {
  /** Between the arrival of the messages and their storing. */
  readonly beforeMs: number;
  readonly storingMs: number;
}

interface Read {
  /** What the server heard of the messages. */
  readonly heard: string[];
  /** Why the reader was lost. */
  readonly lost: string[];
  /** How many batches were stored. */
  readonly stored: number;
}

/** Reads two messages while the process stands still for so long. */
async function readWhileItPauses({ beforeMs, storingMs }: Pauses): Promise<Read> {
  const heard: string[] = [];
  const lost: string[] = [];
  let aheadMs = 0;
  let stored = 0;
  const consume = async ({ callback }: { callback: (of: JetStreamMessage) => void }): Promise<object> => {
    for (const seq of [1, 2]) callback(message(seq, heard));
    aheadMs += beforeMs;
    return { close: async () => undefined, closed: () => new Promise<never>(() => undefined) };
  };
  const state = { config: { ack_wait: 30_000 * NANOS }, delivered: { consumer_seq: 0 }, num_ack_pending: 0 };
  const link = {
    isEnded: false,
    manager: { consumers: { info: async () => state }, streams: { deleteMessage: async () => true } },
    stream: { publish: async () => ({ seq: 1 }), consumers: { get: async () => ({ consume }) } },
  };
  const topology = {
    readersOf: () => ({ stream: 'readers', subject: 'readers.order' }),
    declareStream: async () => undefined,
    declareReaders: async () => undefined,
    declareConsumer: async () => state,
  };
  const reader = new StreamReader({
    link,
    topology,
    place: { stream: 'order', consumer: 'mail' },
    left: new Map<string, number>(),
    keepMs: 1_000,
    effects: { ...systemEffects, monoMs: () => systemEffects.monoMs() + aheadMs },
    onBatch: async () => {
      stored += 1;
      aheadMs += storingMs;
    },
    onLost: (reason: unknown) => void lost.push(String(reason)),
    onProblem: () => undefined,
  } as unknown as StreamReaderOptions);
  await reader.start();
  await expect.poll(() => heard.length + lost.length).toBeGreaterThan(0);
  await reader.stop();
  return { heard, lost, stored };
}

const LOST = [expect.stringContaining('gave no sign of life for too long')];

test('what is stored is acknowledged, the last with an answer [S0.8]', async () => {
  const read = await readWhileItPauses({ beforeMs: 0, storingMs: 1_000 });
  expect(read).toEqual({ heard: ['ack 1', 'ack 2'], lost: [], stored: 1 });
});

test('a reader that may have lost its stream while it stored acknowledges nothing and gives nothing back: another reads by now [S0.8] [S1.5]', async () => {
  const read = await readWhileItPauses({ beforeMs: 0, storingMs: 60_000 });
  expect(read).toEqual({ heard: [], lost: LOST, stored: 1 });
});

test('a reader that may have lost its stream before it stored stores nothing: another has read on by now [S0.8] [S1.5]', async () => {
  const read = await readWhileItPauses({ beforeMs: 60_000, storingMs: 0 });
  expect(read).toEqual({ heard: [], lost: LOST, stored: 0 });
});
