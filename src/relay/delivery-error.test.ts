import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../kernel/error.ts';
import type { Failure } from '../retry/failure.ts';
import { toDeliveryError } from './delivery-error.ts';

/** Also halves of surrogate pairs and control characters; fast-check's own list of such takes a second to build. */
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

const failure: Failure = { verdict: 'retry', kind: 'unknown' };
const bytes = (text: string): number => new TextEncoder().encode(text).length;

describe('the kept error', () => {
  test('has name, message, code and kind, and the places of the stack without the message', () => {
    const thrown = Object.assign(new TypeError('first\nsecond'), { code: 'E_ODD' });
    const kept = toDeliveryError(thrown, { verdict: 'fail', kind: 'network' });
    expect(kept).toMatchObject({ name: 'TypeError', message: 'first\nsecond', code: 'E_ODD', kind: 'network' });
    expect(kept.stack).toMatch(/^ {4}at .*delivery-error\.test/);
    expect(kept.stack).not.toContain('second');
  });

  test('says that trying again would not help, where that is so [S1.7]', () => {
    expect(toDeliveryError(new Error('x'), { verdict: 'fail', kind: 'terminal' }).isFinal).toBe(true);
    expect(toDeliveryError(new Error('x'), failure)).not.toHaveProperty('isFinal');
  });

  test('has at most 20 places of a stack, whichever engine wrote it', () => {
    const places = (line: string): string[] | undefined =>
      toDeliveryError({ stack: `Error: x\n${`${line}\n`.repeat(30)}` }, failure).stack?.split('\n');
    expect(places('    at run (app.ts:1:2)')).toEqual(Array(20).fill('    at run (app.ts:1:2)'));
    expect(places('run@https://cdn.example/app.js:1:2')).toHaveLength(20);
    expect(places('nothing of that kind')).toBeUndefined();
  });

  test('has the code that was read from its causes, where the classifier found one', () => {
    expect(toDeliveryError(new Error('x'), { ...failure, code: '23505' }).code).toBe('23505');
    expect(toDeliveryError({ code: 8 }, failure).code).toBe('8');
  });

  test('says what is behind it, three deep and shortly', () => {
    const chain = ['e', 'd', 'c', 'b'].reduce<Error>(
      (cause, name) => new Error(`${name} failed`, { cause }),
      new Error('root'),
    );
    expect(toDeliveryError(chain, failure).message).toBe(
      'b failed · because of Error: c failed · because of Error: d failed · because of Error: e failed',
    );
    const many = new AggregateError([new RangeError('one'), new Error('two')]);
    expect(toDeliveryError(many, failure)).toMatchObject({
      name: 'AggregateError',
      message: ' · because of RangeError: one',
    });
    const long = new Error('x'.repeat(5_000), { cause: new Error('y'.repeat(5_000), { cause: 'z'.repeat(5_000) }) });
    const { message } = toDeliveryError(long, failure);
    expect(message).toMatch(/^x+… · because of Error: y+… · because of string: z+…$/);
    expect(bytes(message)).toBeLessThanOrEqual(1_024);
  });

  test.each([
    ['nothing', undefined, 'undefined', 'undefined'],
    ['null', null, 'null', 'null'],
    ['a text', 'went wrong', 'string', 'went wrong'],
    ['a symbol', Symbol('s'), 'symbol', 'Symbol(s)'],
    ['an object', { status: 500, body: { password: 'x' } }, 'Object', 'an object with status, body'],
    ['an error without a text', new Error(), 'Error', ''],
    ['an object without a class', Object.create(null), 'object', ''],
  ])('of %s is in words', (_, thrown, name, message) => {
    expect(toDeliveryError(thrown, failure)).toMatchObject({ name, message, kind: 'unknown' });
  });

  test('is there for what cannot be read at all', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const no = (): never => {
      throw new Error('no');
    };
    const angry = Object.defineProperties(new Error('x'), {
      message: {
        get: no,
      },
      stack: {
        get: no,
      },
      name: {
        get: no,
      },
      cause: {
        get: no,
      },
    });
    const round: Error = new Error('round');
    round.cause = round;
    const named = Object.defineProperty(function odd() {}, 'name', { get: no });
    expect(toDeliveryError(proxy, failure)).toEqual({
      name: 'object',
      message: 'what was thrown could not be read',
      kind: 'unknown',
    });
    expect(toDeliveryError(angry, failure)).toEqual({ name: 'object', message: '', kind: 'unknown' });
    expect(toDeliveryError(round, failure).message).toBe('round');
    expect(toDeliveryError({ constructor: named }, failure).name).toBe('unreadable');
    expect(toDeliveryError(new Error('x', { cause: proxy }), failure).message).toBe('x · because of object');
  });

  test('hides secrets in all its parts', () => {
    const thrown = new Error('connect postgres://app:hunter2@db/x', {
      cause: new Error('Authorization: Bearer abcdef'),
    });
    Object.assign(thrown, {
      stack: `Error: x\n    at call (https://cdn.example/app.js?token=hunter2:1:2)`,
      code: 'sk-hunter2hunter2hunter2',
    });
    const kept = JSON.stringify(toDeliveryError(thrown, failure));
    expect(kept).not.toMatch(/hunter2|abcdef/);
    expect(kept).toContain('db/x');
  });

  test('of our own errors keeps what they say', () => {
    const error = new HoldfastError('HTTP_STATUS', {
      operation: 'pay',
      method: 'POST',
      url: 'https://pay.internal/v1',
      status: 503,
      requestId: 'req-1',
    });
    expect(toDeliveryError(error, failure).message).toBe(error.message);
  });
});

describe('whatever is thrown', () => {
  test('the kept error is small, well-formed text without control characters, and nothing throws', () => {
    const text = fc.string({ unit: anyUnit, maxLength: 60 });
    const thing = fc.oneof(
      fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withMap: true }),
      fc.record({ message: text, stack: text, name: text, code: text, cause: fc.anything() }, { requiredKeys: [] }),
      fc.tuple(text, text).map(([message, inner]) => new Error(message.repeat(50), { cause: new Error(inner) })),
    );
    fc.assert(
      fc.property(thing, (thrown) => {
        const kept = toDeliveryError(thrown, failure);
        expect(bytes(kept.message)).toBeLessThanOrEqual(1_024);
        expect(bytes(kept.stack ?? '')).toBeLessThanOrEqual(4_096);
        expect((kept.stack ?? '').split('\n').length).toBeLessThanOrEqual(20);
        const isFine = (one: unknown): boolean =>
          typeof one === 'string' && one.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(one);
        expect(Object.values(kept).filter((one) => !isFine(one))).toEqual([]);
        expect(bytes(kept.name)).toBeLessThanOrEqual(120);
        expect(bytes(kept.code ?? '')).toBeLessThanOrEqual(120);
      }),
      { numRuns: 60 },
    );
  });

  test('a secret cut in two by the limit does not show', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 120 }), (shift) => {
        const before = `password=${'p'.repeat(16_300 + shift)} `;
        const { message } = toDeliveryError(new Error(`${before}postgres://user:hunter2hunter2@host/db`), failure);
        expect(message).not.toMatch(/hun|ppp/);
      }),
      { numRuns: 40 },
    );
  });

  test('a megabyte that is hard to read takes no time that matters', () => {
    for (const part of [
      'eyJ-',
      '/',
      '//',
      'a:',
      'token ',
      'token="',
      '[',
      '\\"',
      '-----BEGIN PRIVATE KEY-----',
      'sk-',
      'password=[',
      "'",
    ]) {
      const thrown = new Error(part.repeat(1_000_000 / part.length));
      expect(bytes(toDeliveryError(thrown, failure).message)).toBeLessThanOrEqual(1_024);
    }
  });
});
