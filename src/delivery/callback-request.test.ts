import { expect, test } from 'vitest';
import { callbacksOf, type ToldAttempt } from './callback-request.ts';

const TARGET = { method: 'POST', retries: 2, headers: { 'X-Mine': ['1'] } } as const;

function told(change: Partial<ToldAttempt> = {}, request: Partial<ToldAttempt['request']> = {}): ToldAttempt {
  return {
    messageId: 'm1',
    request: {
      url: 'https://a.example/jobs',
      method: 'PUT',
      retries: 3,
      headers: { 'Content-Type': ['text/plain'] },
      body: 'grüße',
      signedBy: 'server',
      callback: { ...TARGET, url: 'https://b.example/done' },
      failureCallback: { ...TARGET, url: 'https://b.example/failed' },
      group: 'all',
      scheduleId: 's1',
      ...request,
    },
    attempt: 2,
    cycle: 1,
    createdAt: new Date(1_000),
    startedAt: new Date(2_000),
    endedAt: new Date(3_000),
    state: 'ERROR',
    responseStatus: 500,
    responseHeaders: { Date: ['today'] },
    responseBody: Buffer.from('no'),
    ...change,
  };
}

test('a callback tells of each attempt, and has none itself [X.8]', () => {
  const [callback, ...more] = callbacksOf(told());
  expect(more).toEqual([]);
  expect(callback).toMatchObject({
    to: { kind: 'url', url: 'https://b.example/done' },
    delivery: { method: 'POST', retries: 2, headers: { 'X-Mine': ['1'], 'Content-Type': ['application/json'] } },
  });
  expect(callback?.delivery).not.toHaveProperty('callback');
  expect(callback?.delivery).not.toHaveProperty('failureCallback');
  expect(callback?.delivery).not.toHaveProperty('url');
  expect(JSON.parse(callback?.delivery.body ?? '')).toEqual({
    status: 500,
    header: { Date: ['today'] },
    body: Buffer.from('no').toString('base64'),
    retried: 1,
    maxRetries: 3,
    sourceMessageId: 'm1',
    topicName: 'all',
    url: 'https://a.example/jobs',
    method: 'PUT',
    sourceHeader: { 'Content-Type': ['text/plain'] },
    sourceBody: Buffer.from('grüße').toString('base64'),
    notBefore: 1_000,
    createdAt: 1_000,
    scheduleId: 's1',
  });
});

test('a failure callback is told once, with the id of the dead letter [X.8]', () => {
  const made = callbacksOf(told({ state: 'FAILED', attempt: 4 }));
  expect(made.map(({ to }) => to.url)).toEqual(['https://b.example/done', 'https://b.example/failed']);
  const bodies = made.map(({ delivery }) => JSON.parse(delivery.body ?? '') as { dlqId?: string; retried: number });
  expect(bodies.map(({ dlqId, retried }) => [dlqId, retried])).toEqual([
    [undefined, 3],
    ['m1-1', 3],
  ]);
  expect(callbacksOf(told({ state: 'DELIVERED' })).map(({ to }) => to.url)).toEqual(['https://b.example/done']);
});

test('a callback of what is hidden is hidden, and one without an answer has status 0 [X.8]', () => {
  const [callback] = callbacksOf(
    told(
      { responseStatus: undefined, responseHeaders: undefined, responseBody: undefined, error: 'it took too long' },
      { hidden: { headers: true }, bodyBase64: 'AAH/', body: undefined },
    ),
  );
  expect(callback?.delivery.hidden).toEqual({ body: true });
  expect(JSON.parse(callback?.delivery.body ?? '')).toMatchObject({
    status: 0,
    body: '',
    sourceBody: 'AAH/',
    error: 'it took too long',
  });
});
