import { describe, expect, test } from 'vitest';
import {
  isProviderRetryEndEvent,
  isProviderRetryEvent,
  isRetryStreamEvent,
  parseEventLines,
  providerRetryEvent,
  type ProviderRetryEndEvent,
  serializeEventLine,
  withoutRetryEvents,
} from './index.ts';

const event = providerRetryEvent({
  conversationId: 'c1',
  turnId: 't1',
  attempt: 0,
  delayMs: 5_000,
  message: 'HTTP 429: {"error":{"type":"overloaded_error"}}',
  code: '429',
  maxAttempts: undefined,
  nextAtMs: undefined,
  waitedMs: undefined,
  kind: undefined,
});
const closing: ProviderRetryEndEvent = {
  type: 'provider-retry-end',
  conversationId: 'c1',
  turnId: 't1',
  attempt: 0,
  outcome: 'retrying',
};

describe('the provider-retry event', () => {
  test('has exactly the agreed fields; optional ones only when they are known [S2.2]', () => {
    expect(JSON.parse(JSON.stringify(event))).toStrictEqual({
      type: 'provider-retry',
      conversationId: 'c1',
      turnId: 't1',
      attempt: 0,
      delayMs: 5_000,
      message: 'HTTP 429: {"error":{"type":"overloaded_error"}}',
      code: '429',
    });
    expect(Object.isFrozen(event)).toBe(true);
  });

  test('is known after a trip over a line transport [S2.2]', async () => {
    const lines = serializeEventLine(event) + serializeEventLine(closing);
    const body = new Response(lines).body as ReadableStream<Uint8Array>;
    const back: unknown[] = [];
    for await (const value of parseEventLines(body)) back.push(value);
    expect(back).toEqual([event, closing]);
    expect(back.map(isProviderRetryEvent)).toEqual([true, false]);
    expect(back.map(isProviderRetryEndEvent)).toEqual([false, true]);
    expect(back.every(isRetryStreamEvent)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a string', 'provider-retry'],
    ['a list', []],
    ['a chunk', { type: 'text' }],
    ['another type', { ...event, type: 'provider-retri' }],
    ['half an attempt', { ...event, attempt: 0.5 }],
    ['an attempt in words', { ...event, attempt: '0' }],
    ['no delay', { ...event, delayMs: null }],
    ['no message', { ...event, message: undefined }],
    ['a numbered conversation', { ...event, conversationId: 1 }],
    ['no turn', { ...event, turnId: undefined }],
    ['an unknown outcome', { ...closing, outcome: 'done' }],
    ['an end of nothing', { ...closing, attempt: undefined }],
  ])('is not recognised in %s [S2.2]', (_, value) => {
    expect(isRetryStreamEvent(value)).toBe(false);
  });

  test('and the one that closes it never stay in a history [S2.2]', () => {
    const text = { type: 'text', text: 'hello' };
    expect(withoutRetryEvents([text, event, closing, text])).toEqual([text, text]);
    expect(withoutRetryEvents(new Set([event]))).toEqual([]);
  });
});
