import { describe, expect, test } from 'vitest';
import { redactor } from './redact.ts';

describe('redaction of a payload', () => {
  test('hides what stands at a place, in each item, and at any depth [X.17]', () => {
    const payload = {
      customer: { email: 'ann@example.com', name: 'Ann' },
      items: [{ card: '4111', sku: 'a' }, { card: '4222' }],
      deep: { er: { Password: 'x', passwordless: true } },
      'a.b': { c: 1 },
    };
    const redact = redactor(['customer.EMAIL', 'items.*.card', '**.password', '"a.b".c', 'not.there']);
    expect(JSON.parse(JSON.stringify(redact(payload)))).toEqual({
      customer: { email: '[hidden]', name: 'Ann' },
      items: [{ card: '[hidden]', sku: 'a' }, { card: '[hidden]' }],
      deep: { er: { Password: '[hidden]', passwordless: true } },
      'a.b': { c: '[hidden]' },
    });
    expect(payload.customer.email).toBe('ann@example.com');
  });

  test('hides whole objects and lists, and leaves plain values and payloads without a place alone', () => {
    expect(redactor(['a'])({ a: { b: 1 }, c: 2 })).toEqual({ a: '[hidden]', c: 2 });
    expect(redactor(['*'])([1, { a: 2 }])).toEqual(['[hidden]', '[hidden]']);
    expect(redactor(['a'])('text')).toBe('text');
    expect(redactor(['a'])(null)).toBeNull();
    expect(redactor([])({ a: 1 })).toEqual({ a: 1 });
  });

  test('a field that would reach into objects is only a field', () => {
    const redacted = redactor(['x'])(JSON.parse('{"__proto__":{"polluted":true},"x":1}'));
    expect(JSON.stringify(redacted)).toBe('{"__proto__":{"polluted":true},"x":"[hidden]"}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('refuses what is no place', () => {
    expect(() => redactor(['a..b'])).toThrow('write a place such as customer.email');
  });
});
