import { expect, test } from 'vitest';
import { keptLog } from '../../test/http/kept-log.ts';
import { idempotencyEvents } from '../../test/telemetry/made-idempotency-events.ts';
import { logIdempotency } from './log-idempotency.ts';

test('a line for everything idempotency tells carries every correlation field that is known [S0.12] [S1.10]', () => {
  const { logger, lines } = keptLog();
  const observe = logIdempotency(logger, { requestId: 'r1' });
  for (const event of idempotencyEvents()) observe(event);
  const common = {
    requestId: 'r1',
    source: 'orders',
    operation: 'POST /orders',
    idempotencyKey: 'key-1',
    recordId: 'record-1',
  };
  const error = { errorClass: 'Error', errorCode: 'ECONNREFUSED' };
  expect(lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['debug', { ...common, attempt: 1 }],
    ['warn', { ...common, attempt: 2 }],
    ['info', { ...common, status: 'completed' }],
    ['info', { ...common, leaseLeftMs: 26_000, retryable: true }],
    ['warn', common],
    ['warn', { ...common, attempt: 1 }],
    ['error', { ...common, ...error }],
    ['error', { ...common, ...error }],
    ['debug', { ...common, attempt: 1, latencyMs: 20, status: 'completed' }],
    ['debug', { ...common, attempt: 1, latencyMs: 20, status: 'failed' }],
    ['info', { ...common, attempt: 1, latencyMs: 20 }],
    ['warn', { ...common, attempt: 1, latencyMs: 20 }],
    ['warn', { ...common, attempt: 1, latencyMs: 20 }],
    ['warn', { ...common, attempt: 1, latencyMs: 20, reason: 'taken' }],
    ['warn', { ...common, attempt: 1, latencyMs: 20, ...error }],
    ['debug', { ...common, latencyMs: 150 }],
    ['warn', { ...common, during: 'claim', ...error }],
    ['warn', { requestId: 'r1', during: 'get', ...error }],
    ['debug', { requestId: 'r1', count: 7 }],
  ]);
});

test('no line of idempotency holds the text of an error [S0.12]', () => {
  const { logger, lines } = keptLog();
  for (const event of idempotencyEvents()) logIdempotency(logger)(event);
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});
