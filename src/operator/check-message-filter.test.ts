import { expect, test } from 'vitest';
import { checkMessageFilter, payloadDocument } from './check-message-filter.ts';

test('values of a payload become the one document that all payloads contain which fit [X.18]', () => {
  const at = (
    path: string,
    value: string | number | boolean | null,
  ): Parameters<typeof payloadDocument>[0][number] => ({
    path: path.split('.'),
    value,
  });
  expect(payloadDocument([at('customer.id', 42), at('customer.isNew', true), at('note', null)])).toEqual({
    customer: { id: 42, isNew: true },
    note: null,
  });
  expect(JSON.stringify(payloadDocument([at('__proto__.x', 1)]))).toBe('{"__proto__":{"x":1}}');
  expect(payloadDocument([at('a', 1), at('a', 1)])).toEqual({ a: 1 });
  expect(payloadDocument([at('a', 1), at('a', 2)])).toBeUndefined();
  expect(payloadDocument([at('a', 1), at('a.b', 2)])).toBeUndefined();
  expect(payloadDocument([at('a.b', 2), at('a', 1)])).toBeUndefined();
});

test('a filter of messages that cannot be one is refused with what is wrong [X.18]', () => {
  const refused: readonly object[] = [
    { status: 'lost' },
    { type: '' },
    { key: 'a\u0000b' },
    { error: '\ud800' },
    { since: new Date(Number.NaN) },
    { until: '2026' },
    { limit: 0 },
    { limit: 1_001 },
    { cursor: `'; drop table delivery; --` },
    { payload: [{ path: [], value: 1 }] },
    { payload: [{ path: ['a'], value: {} }] },
    { payload: [{ path: ['a'], value: Number.NaN }] },
    { payload: [{ path: ['a\u0000'], value: 1 }] },
    { payload: 'a' },
    { statsu: 'failed' },
  ];
  for (const filter of refused) expect(() => checkMessageFilter(filter), JSON.stringify(filter)).toThrow('messages()');
  expect(() => checkMessageFilter({ status: 'failed', type: 'order.*', payload: [] })).not.toThrow();
});
