import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { ConsumeRequest, InboundMessage } from '../transport/broker.ts';
import { RetryReader } from './retry-reader.ts';

const BEGIN_MS = Date.UTC(2026, 0, 1);

/** A copy of a dead letter that died so long after the beginning. */
function copy(id: string, diedMs: number, service = 'mail'): InboundMessage {
  const failedAt = new Date(BEGIN_MS + diedMs).toISOString();
  const headers = { 'dlq-service': service, 'dlq-cycle': '0', 'dlq-failed-at': failedAt };
  return { sourceId: id, key: undefined, attributes: { id }, headers, body: new Uint8Array() };
}

/** A reader of what waits for a second, what it hands over and tells, and the requests it reads by. */
function reading(open: () => Promise<void> = async () => undefined): {
  readonly time: ReturnType<typeof virtualTime>;
  readonly reader: RetryReader;
  readonly told: string[];
  readonly requests: ConsumeRequest[];
} {
  const time = virtualTime();
  const told: string[] = [];
  const requests: ConsumeRequest[] = [];
  const request: ConsumeRequest = {
    group: 'mail',
    types: ['order.placed'],
    isDead: false,
    onBatch: async (batch) => void told.push(batch.map(({ sourceId }) => sourceId).join('+')),
    onPlace: (place, problem) => void told.push(`${place}: ${String(problem)}`),
    onLost: () => void told.push('lost'),
  };
  const reader = new RetryReader({
    delayMs: 1_000,
    topics: ['order.retry.1000'],
    request,
    effects: time,
    open: async (own) => {
      await open();
      requests.push(own);
      return { stop: async () => void told.push('stopped') };
    },
  });
  return { time, reader, told, requests };
}

test('copies are handed over when their time has come, and those of other services are left out [S1.7]', async () => {
  const { time, reader, told, requests } = reading();
  await time.advance(500);
  // The last is of a clock that goes ahead: it waits no longer than the delay.
  const batch = [copy('a', -2_000), copy('b', 0), copy('c', 0, 'orders'), copy('d', 100), copy('e', 90_000)];
  const handed = requests[0]?.onBatch(batch);
  await time.advance(0);
  expect(told).toEqual(['a']);
  await time.advance(550);
  expect(told).toEqual(['a', 'b']);
  await time.settle(handed as Promise<void>);
  expect(told).toEqual(['a', 'b', 'd', 'e']);
  expect(time.monoMs()).toBe(1_500);
  await reader.stop();
});

test('a reader that stops does not wait for what is not due, and does not hand it over [S1.7]', async () => {
  const { time, reader, told, requests } = reading();
  await time.advance(0);
  const [handed] = await Promise.allSettled([requests[0]?.onBatch([copy('a', 0)]), reader.stop()]);
  expect(handed).toMatchObject({ status: 'rejected', reason: { message: 'it was stopped' } });
  expect(told).toEqual(['stopped']);
  expect(time.pendingTimers).toBe(0);
});

test('topics that cannot be read are told and tried again, and so is a connection that is lost while a copy waits [S1.7]', async () => {
  let tries = 0;
  const { time, reader, told, requests } = reading(async () => {
    if ((tries += 1) < 3) throw new Error('it is missing');
  });
  await time.advance(4_000);
  const missing = 'order.retry.1000: Error: it is missing';
  expect(told).toEqual([missing, missing]);
  const waiting = Promise.allSettled([requests[0]?.onBatch([copy('a', 4_000)])]);
  requests[0]?.onLost(new Error('cut'));
  expect(await waiting).toMatchObject([{ status: 'rejected', reason: { message: 'cut' } }]);
  await time.advance(2_000);
  expect(told).toEqual([missing, missing, 'stopped', 'order.retry.1000: Error: cut']);
  await requests[1]?.onBatch([copy('a', 4_000)]);
  expect(told.at(-1)).toBe('a');
  await reader.stop();
});
