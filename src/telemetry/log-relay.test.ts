import { expect, test } from 'vitest';
import { dead, delivery, DLQ_ID, done, failed, house, started, TRACE_ID } from '../../test/telemetry/made-events.ts';
import { keptLog, type Line } from '../../test/http/kept-log.ts';
import type { Logger } from '../kernel/log.ts';
import { logRelay } from './log-relay.ts';

function watched(): { readonly logger: Logger; readonly lines: readonly Line[]; levels(): string[] } {
  const { logger, lines } = keptLog();
  return { logger, lines, levels: () => lines.map(({ level, message }) => `${level}: ${message}`) };
}

const about = {
  eventId: delivery().id,
  eventType: 'order.placed',
  source: 'orders',
  target: 'billing',
  idempotencyKey: 'order:1',
  operation: 'charge',
  traceId: TRACE_ID,
  correlationId: 'corr-1',
};

test('a line for each end of a run carries every correlation field that is known [S0.12]', () => {
  const { logger, lines } = watched();
  const observe = logRelay(logger, { service: 'billing' });
  observe(started());
  observe(done());
  observe(failed({ failure: { verdict: 'retry', kind: 'http', status: 503, code: 'busy' } }));
  observe(dead({ failure: { verdict: 'fail', kind: 'invalid' }, maxAttempts: Infinity }));
  observe({ kind: 'run-refused', handler: 'charge', delivery: delivery(), reason: 'lease-lost' });
  const common = { ...about, service: 'billing' };
  expect(lines).toEqual([
    { level: 'debug', fields: { ...common, attempt: 1, maxAttempts: 5, latencyMs: 20 }, message: 'message handled' },
    {
      level: 'warn',
      fields: {
        ...common,
        attempt: 2,
        maxAttempts: 5,
        latencyMs: 300,
        retryable: true,
        errorKind: 'http',
        errorCode: 'busy',
        httpStatus: 503,
        errorClass: 'Error',
        delayMs: 1_000,
      },
      message: 'message failed, will be tried again',
    },
    {
      level: 'error',
      fields: {
        ...common,
        attempt: 5,
        latencyMs: 300,
        retryable: false,
        errorKind: 'invalid',
        errorClass: 'Error',
        reason: 'attempts',
        dlqId: DLQ_ID,
      },
      message: 'message failed for good',
    },
    { level: 'info', fields: { ...common, attempt: 1, reason: 'lease-lost' }, message: 'result refused' },
  ]);
});

test('no line holds the text of an error or a payload [S0.12]', () => {
  const { logger, lines } = watched();
  const observe = logRelay(logger);
  observe(dead({ error: { name: 'Error', message: 'card 4111 of bob', kind: 'unknown' } }));
  observe({ kind: 'parked', handler: 'charge', delivery: delivery(), dlqId: DLQ_ID });
  observe({ kind: 'store-failed', during: 'read', error: new Error('card 4111'), failures: 1 });
  expect(lines).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toMatch(/4111|bob/);
});

test('an outage of the database is one warning', () => {
  const { logger, levels } = watched();
  const observe = logRelay(logger);
  const fail = (failures: number): void =>
    observe({
      kind: 'store-failed',
      during: 'read',
      error: Object.assign(new Error('x'), { code: '57P01' }),
      failures,
    });
  for (const failures of [1, 2, 3, 1]) fail(failures);
  expect(levels().filter((line) => line.startsWith('warn'))).toHaveLength(2);
});

test('what lasts is told when it begins, and when senders are let in again', () => {
  const { logger, levels } = watched();
  const observe = logRelay(logger);
  const unserved = [{ reason: 'no-worker', handler: 'mail', type: undefined, generation: 3, count: 4 } as const];
  for (const report of [{}, { isFull: true, unserved }, { isFull: true, unserved }, {}, { unserved }])
    observe(house(report));
  expect(levels().filter((line) => !line.startsWith('debug'))).toEqual([
    'warn: the outbox is full, senders are refused',
    'warn: messages that nobody serves',
    'info: the outbox is no longer full',
    'warn: messages that nobody serves',
  ]);
});

test('units and the end of a relay are told', () => {
  const { logger, levels } = watched();
  const observe = logRelay(logger);
  observe({ kind: 'started', handlers: [] });
  observe({ kind: 'units-acquired', units: [1], orphaned: 0 });
  observe({ kind: 'units-acquired', units: [2], orphaned: 1 });
  observe({ kind: 'units-released', units: [1] });
  observe({ kind: 'units-lost', units: [2], why: 'buried' });
  observe({ kind: 'stopping' });
  observe({ kind: 'stopped' });
  expect(levels()).toEqual([
    'info: relay started',
    'debug: units acquired',
    'info: took over from a dead process',
    'debug: units released',
    'warn: units lost',
    'info: relay stopping',
    'info: relay stopped',
  ]);
});

test('a message that belongs to a saga says so in each of its lines [S1.10]', () => {
  const { logger, lines } = watched();
  const observe = logRelay(logger);
  const headers = { 'saga-id': 'saga-7', other: 'x' };
  observe(done({ headers }));
  observe(failed({ delivery: delivery({ headers }) }));
  expect(lines.map(({ fields }) => [fields.sagaId, fields.eventId, fields.idempotencyKey])).toEqual([
    ['saga-7', delivery().id, 'order:1'],
    ['saga-7', delivery().id, 'order:1'],
  ]);
});

test('a line carries the correlation fields that came in the headers, under their own names, and no other header [S0.12]', () => {
  const { logger, lines } = watched();
  const headers = {
    requestId: 'r-1',
    runId: 'run_1',
    moduleId: 'plan',
    authorization: 'Bearer x',
    eventId: 'not this',
  };
  const told = done();
  if (told.kind !== 'run-done') throw new Error('it is one');
  logRelay(logger)({ ...told, delivery: { ...told.delivery, headers } });
  const [line] = lines;
  expect(line?.fields).toMatchObject({ ...about, requestId: 'r-1', runId: 'run_1', moduleId: 'plan' });
  expect(JSON.stringify(line)).not.toContain('Bearer');
});

const BREAKER = { kind: 'breaker', breaker: 'stripe', handlers: ['charge'], waiting: 7, failingMs: 1_200 } as const;

test('a breaker is told of when it opens and when it closes, and its probes at debug [X.10]', () => {
  const { logger, lines, levels } = watched();
  const observe = logRelay(logger);
  const error = { name: 'Error', message: 'secret', kind: 'network', code: 'ECONNREFUSED' };
  observe({ ...BREAKER, state: 'closed', cause: 'start' });
  observe({ ...BREAKER, state: 'open', cause: 'failures', probeInMs: 4_999.7, error });
  observe({ ...BREAKER, state: 'probing', cause: 'probe' });
  observe({ ...BREAKER, state: 'open', cause: 'probe', probeInMs: 9_000, error });
  observe({ ...BREAKER, state: 'closed', cause: 'elsewhere' });
  expect(levels()).toEqual([
    'warn: breaker open, nothing of its handlers is started',
    'debug: breaker tries a message',
    'debug: breaker stays open, what its handlers call is still down',
    'info: breaker closed, its handlers go on',
  ]);
  expect(lines[0]?.fields).toEqual({
    breaker: 'stripe',
    handlers: 'charge',
    cause: 'failures',
    waiting: 7,
    failingMs: 1_200,
    probeInMs: 5_000,
    errorClass: 'Error',
    errorKind: 'network',
    errorCode: 'ECONNREFUSED',
  });
});
