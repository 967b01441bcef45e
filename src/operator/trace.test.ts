import { describe, expect, test } from 'vitest';
import { inOrder, messageEntries } from './timeline.ts';
import type { MessageRow, TracedDelivery } from './trace-rows.ts';
import { idRange, meaningsOf, traceIdProblem } from './trace.ts';

const ID = '0198c1d2-0000-7000-8000-000000000001';

describe('what a text may mean', () => {
  test('an id stands for itself, that of a dead letter for its message too, and a key for what it is made of [X.7]', () => {
    expect(meaningsOf('req-1')).toEqual(['req-1']);
    expect(meaningsOf(ID.toUpperCase())).toEqual([ID]);
    expect(meaningsOf(`${ID}:3`)).toEqual([`${ID}:3`, ID]);
    expect(meaningsOf(`${ID}:mail:v2:r1`)).toEqual([`${ID}:mail:v2:r1`, ID]);
    expect(meaningsOf('order-7:mail')).toEqual(['order-7:mail', 'order-7']);
    expect(meaningsOf('order-7-e2')).toEqual(['order-7-e2', 'order-7']);
    expect(meaningsOf('-e2')).toEqual(['-e2']);
    expect(meaningsOf(':mail')).toEqual([':mail']);
  });

  test('the beginning of an id is a range of ids, from 8 digits on [X.7]', () => {
    expect(idRange('0198c1d')).toBeUndefined();
    expect(idRange('0198C1D2-0')).toEqual({
      low: '0198c1d2-0000-0000-0000-000000000000',
      high: '0198c1d2-0fff-ffff-ffff-ffffffffffff',
    });
    expect(idRange(ID)).toBeUndefined();
    expect(idRange('user-1234567')).toBeUndefined();
    expect(idRange('--------')).toBeUndefined();
  });

  test('what is no text, or no text a database knows, is no id [X.7]', () => {
    expect(traceIdProblem('x')).toBeUndefined();
    for (const id of ['', ' ', 'a\u0000', '\uDC00', 'x'.repeat(2_001), 7, undefined]) {
      expect(traceIdProblem(id)).toBe('an id is 1 to 2000 characters of text');
    }
  });
});

const DELIVERY: TracedDelivery = {
  handler: 1,
  service: 'shop',
  name: 'mail',
  status: 'ready',
  attempts: 0,
  cycle: 0,
  rerun: 0,
  version: 0,
  error: null,
  firstFailedAt: null,
  failureHistory: [],
  dueAt: null,
  failedAt: null,
  doneAt: null,
  durationMs: null,
  reason: null,
  actor: null,
  running: null,
};

const MESSAGE: MessageRow = {
  id: ID,
  type: 'order.placed',
  key: null,
  source: 'shop',
  createdAt: '2026-01-01T00:00:00Z',
  idempotencyKey: null,
  correlationId: null,
  causationId: null,
  deliveries: [],
  arrivals: null,
  changes: null,
};

describe('the timeline of a message', () => {
  const now = new Date('2026-01-01T01:00:00Z');
  const told = (delivery: Partial<TracedDelivery>, more: Partial<MessageRow> = {}): string[] =>
    inOrder(messageEntries({ ...MESSAGE, deliveries: [{ ...DELIVERY, ...delivery }], ...more }, now, false)).map(
      ({ at, step, detail }) => `${at.toISOString().slice(11, 19)} ${step} ${detail ?? ''}`.trim(),
    );
  const error = { name: 'Error', message: 'down', code: 'SMTP', kind: 'network' };

  test('tells where an open delivery stands, and what is next [X.7]', () => {
    expect(told({})).toEqual(['00:00:00 sent', `01:00:00 open not yet run; holdfast why ${ID} tells more`]);
    expect(told({ name: null, service: null, handler: 0 })).toContain('01:00:00 open no handler takes it');
    const running = { worker: 'host:1', attempt: 2, startedAt: '2026-01-01T00:30:00Z' };
    expect(told({ running })).toContain('00:30:00 open running on host:1, attempt 2');
    const retry = { status: 'waiting', attempts: 2, dueAt: '2026-01-01T02:00:00Z', error } as const;
    expect(told({ ...retry, firstFailedAt: '2026-01-01T00:10:00Z' })).toEqual([
      '00:00:00 sent',
      '00:10:00 retry attempt 1 failed, 2 in all',
      '01:00:00 open waits until 2026-01-01T02:00:00Z after 2 attempts: Error (SMTP): down',
    ]);
  });

  test('tells each failed cycle, and a discard once, by whoever gave it up [X.7]', () => {
    const cycle = {
      cycle: 0,
      service: 'shop',
      handler: 'mail',
      attempts: 1,
      firstFailedAt: '2026-01-01T00:01:00Z',
      failedAt: '2026-01-01T00:01:00Z',
      error,
      generation: null,
      replayedAt: null,
      replayedBy: null,
    };
    const change = {
      at: '2026-01-01T00:02:00Z',
      actor: 'eve',
      verb: 'discard',
      reason: 'old',
      handler: 1,
      details: {},
    };
    const changes = [{ ...change, service: 'shop', name: 'mail' }];
    const discarded = { status: 'discarded', doneAt: change.at, actor: 'eve', reason: 'old', attempts: 1 } as const;
    expect(told({ ...discarded, failureHistory: [cycle] }, { changes })).toEqual([
      '00:00:00 sent',
      '00:01:00 dead Error (SMTP): down, dead letter after 1 attempt',
      '00:02:00 discarded by eve: old',
    ]);
    const back = { status: 'delivered', doneAt: '2026-01-01T00:05:00Z', cycle: 1, attempts: 1 } as const;
    expect(told({ ...back, failureHistory: [cycle] }, { changes })).toEqual([
      '00:00:00 sent',
      '00:01:00 dead Error (SMTP): down, dead letter after 1 attempt',
      '00:02:00 by-hand by eve: old',
      '00:05:00 handled replay 1',
    ]);
  });

  test('of a message from elsewhere the arrivals are told, and its sending only where it was published here [X.7]', () => {
    const arrival = { takenAs: '<mail/order.placed', sourceId: 'kafka:orders@0@1', firstAt: '2026-01-01T00:03:00Z' };
    const arrivals = [{ ...arrival, lastAt: '2026-01-01T00:09:00Z', times: 3 }];
    expect(told({ status: 'delivered', doneAt: '2026-01-01T00:04:00Z' }, { arrivals })).toEqual([
      '00:03:00 received from shop',
      '00:04:00 handled',
      '00:09:00 received came 3 times in all, and was taken once',
    ]);
    expect(told({ name: 'to-kafka', status: 'delivered', doneAt: '2026-01-01T00:02:00Z' }, { arrivals })[0]).toBe(
      '00:00:00 sent',
    );
  });
});
