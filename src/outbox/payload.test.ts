import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isHoldfastError } from '../kernel/error.ts';
import { event } from './event.ts';
import { MAX_PAYLOAD_BYTES, serializePayload } from './payload.ts';
import { createSending, outgoing } from './sending.ts';

const plain = event('order.placed');

async function problemOf(payload: unknown): Promise<string> {
  const error: unknown = await serializePayload(plain, payload).catch((thrown: unknown) => thrown);
  if (!isHoldfastError(error, 'PAYLOAD_INVALID')) throw new Error(`not refused: ${String(error)}`);
  return error.details.problem;
}

function* generated(): Generator<number> {
  yield 1;
}

class Price {
  readonly #cents: number;
  constructor(cents: number) {
    this.#cents = cents;
  }
  get cents(): number {
    return this.#cents;
  }
}

class Line {
  readonly sku = 's_1';
  get label(): string {
    return `line of ${this.sku}`;
  }
}

class Ping {
  answer(): string {
    return 'pong';
  }
}

class Rows extends Array<number> {}

function deep(levels: number): unknown {
  let inner: unknown = 1;
  for (let level = 0; level < levels; level++) inner = { a: inner };
  return inner;
}

describe('a payload', () => {
  test('is stored as the JSON that was sent, not as what the schema makes of it', async () => {
    const dated = event('x', { schema: z.object({ at: z.string().transform((text) => new Date(text)) }) });
    expect(await serializePayload(dated, { at: '2026-01-01' })).toBe('{"at":"2026-01-01"}');
  });

  test('that does not fit its schema is refused, with the place and not the value', async () => {
    const order = event('order.placed', { schema: z.object({ lines: z.array(z.object({ price: z.number() })) }) });
    const bad = { lines: [{ price: 1 }, { price: 'secret' }] } as never;
    const error: unknown = await serializePayload(order, bad).catch((thrown: unknown) => thrown);
    if (!isHoldfastError(error, 'PAYLOAD_INVALID')) throw error;
    expect(error.details.problem).toContain('payload.lines.1.price');
    expect(error.message).not.toContain('secret');
  });

  test.each([
    ['nothing at all', undefined, 'payload is undefined'],
    ['null and nothing else', null, 'payload is null'],
    ['a bigint', { n: 1n }, 'payload.n is a bigint'],
    ['a function', { f: () => 1 }, 'payload.f is a function'],
    ['NaN, which JSON turns into null', { n: [1, Number.NaN] }, 'payload.n.1 is NaN'],
    ['an infinite number', { n: Infinity }, 'payload.n is Infinity'],
    ['a NUL character', { text: 'a\u0000b' }, 'payload.text holds a NUL'],
    ['a NUL in a name', { 'a\u0000': 1 }, 'a name in payload holds a NUL'],
    ['half a surrogate pair', { text: '\ud83d' }, 'payload.text holds half'],
    ['undefined in a list', { list: [1, undefined] }, 'payload.list.1 is undefined'],
    // oxlint-disable-next-line no-sparse-arrays
    ['a hole in a list', { list: [1, , 2] }, 'payload.list.1 is undefined'],
    ['a Map', { by: new Map([[1, 2]]) }, 'payload.by is a Map'],
    ['a Set', [new Set([1])], 'payload.0 is a Set'],
    ['an error', { error: new TypeError('x') }, 'payload.error is an Error'],
    ['bytes', { bytes: new Uint8Array(2) }, 'payload.bytes is a Uint8Array'],
    ['a promise', { order: Promise.resolve(1) }, 'payload.order is a Promise, so await it first'],
    ['an invalid date', { at: new Date(Number.NaN) }, 'payload.at is an invalid Date'],
    ['-0, which JSON turns into 0', { lines: [{ amount: -0 }] }, 'payload.lines.0.amount is -0'],
    ['a Buffer, which JSON turns into an object', { file: Buffer.from('x') }, 'payload.file is a Buffer'],
    ['shared memory', { bytes: new SharedArrayBuffer(2) }, 'payload.bytes is a SharedArrayBuffer'],
    ['a list with a field', { found: /b/.exec('abc') }, 'payload.found is a list with a field "index"'],
    ['a list with a symbol', { list: Object.assign([1], { [Symbol('x')]: 1 }) }, 'payload.list has a field named by'],
    ['a field named by a symbol', { to: { [Symbol('x')]: 1 } }, 'payload.to has a field named by a symbol'],
    ['a boxed number', { n: new Number(1) }, 'payload.n is a Number object, so send the value in it'],
    ['a boxed text', { list: [new String('s')] }, 'payload.list.0 is a String object'],
    ['a boxed truth', { is: new Boolean(false) }, 'payload.is is a Boolean object'],
    ['a boxed bigint', { n: Object(1n) as unknown }, 'payload.n is a BigInt object'],
    ['headers of a request', { headers: new Headers({ a: '1' }) }, 'payload.headers is a Headers'],
    ['parameters of a URL', { query: new URLSearchParams('a=1') }, 'payload.query is a URLSearchParams'],
    ['an iterator', { ids: new Map([[1, 2]]).keys() }, 'payload.ids is a Map Iterator'],
    ['a generator', { ids: generated() }, 'payload.ids is a Generator'],
    ['a weak reference', { of: new WeakRef({}) }, 'payload.of is a WeakRef'],
    [
      'an object with private fields only',
      { price: new Price(5) },
      'payload.price is a Price, which JSON does not keep',
    ],
    ['a toJSON that gives NaN', { n: { toJSON: () => Number.NaN } }, 'payload.n is NaN'],
    ['a toJSON that gives nothing', { n: { toJSON: () => undefined } }, 'payload.n is undefined'],
    ['a toJSON that gives -0 below', [{ toJSON: () => ({ n: -0 }) }], 'payload.0.n is -0'],
    ['too many levels', deep(200), 'payload.a.a.a'],
  ])('with %s is refused', async (_name, payload, problem) => {
    expect(await problemOf(payload)).toContain(problem);
  });

  test('that goes in a circle is refused', async () => {
    const round: { self?: unknown } = {};
    round.self = round;
    expect(await problemOf(round)).toContain('in a circle');
  });

  test('larger than a megabyte as bytes is refused', async () => {
    await expect(serializePayload(plain, 'é'.repeat(MAX_PAYLOAD_BYTES / 2))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    expect(await serializePayload(plain, 'é'.repeat(MAX_PAYLOAD_BYTES / 2 - 1))).toHaveLength(
      MAX_PAYLOAD_BYTES / 2 + 1,
    );
  });

  test('a field that is undefined is left out, as JSON does; dates are their text', async () => {
    expect(await serializePayload(plain, { a: undefined, at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  test.each([
    ['a toJSON decides for its object', { at: new URL('http://x.test/') }, '{"at":"http://x.test/"}'],
    ['a toJSON is called with the name of its field', { a: [{ toJSON: (name: string) => name }] }, '{"a":["0"]}'],
    ['an instance of a class is its own fields', { line: new Line() }, '{"line":{"sku":"s_1"}}'],
    ['an instance without fields is an empty object', { ping: new Ping() }, '{"ping":{}}'],
    ['rows of a driver are a list', { rows: Rows.from([1, 2]) }, '{"rows":[1,2]}'],
    ['an object without a prototype is its fields', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['own getters are read', Object.defineProperty({}, 'n', { get: () => 7, enumerable: true }), '{"n":7}'],
    ['hidden fields are no data', Object.defineProperty({ a: 1 }, 'h', { value: 1 }), '{"a":1}'],
    ['a field named __proto__ stays', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    ['a value in two places is in both', ((one) => ({ a: one, b: one }))({ n: 1 }), '{"a":{"n":1},"b":{"n":1}}'],
  ])('is what JSON promises: %s', async (_name, payload: unknown, text) => {
    expect(await serializePayload(plain, payload)).toBe(text);
  });

  test('in a circle names a place of bounded length', async () => {
    const round: Record<string, unknown> = {};
    round['name'.repeat(100)] = round;
    expect((await problemOf(round)).length).toBeLessThan(300);
  });

  test('of any JSON is taken or refused, and what is taken comes back equal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: 'binary' }), async (value) => {
        const text = await serializePayload(plain, value).catch(() => undefined);
        if (text !== undefined) expect(isDeepStrictEqual(JSON.parse(text), value)).toBe(true);
      }),
    );
  });
});

test('sendAll refuses what outgoing did not make, and says which', async () => {
  const { sendAll } = createSending({ service: 'x', generation: undefined }, { append: async () => [] });
  const placed = outgoing(event<object>('order.placed'), {});
  const odd = [{}, undefined, 'order.placed'] as const;
  for (const one of odd)
    await expect(sendAll(undefined, [placed, one as never])).rejects.toThrow(
      /messages\[1\].*outgoing\(event, payload\)/s,
    );
  await expect(sendAll(undefined, placed as never)).rejects.toThrow(
    /messages is an object.*outgoing\(event, payload\)/s,
  );
});

test.each([
  ['a Map', new Map([['tenant', 't_1']])],
  ['Headers', new Headers({ tenant: 't_1' })],
  ['a list of pairs', [['tenant', 't_1']]],
  ['a text', 'tenant'],
])('send refuses headers that are %s: their fields would be left out', async (_name, headers) => {
  const { send } = createSending({ service: 'x', generation: undefined }, { append: async () => [] });
  await expect(send('tx', plain, {}, { headers: headers as never })).rejects.toThrow(
    /headers is .*\{ tenant: 't_1' \}/,
  );
});

test('send refuses what is not an event before it looks at the payload: a name, or nothing for want of an import', async () => {
  const { send } = createSending({ service: 'x', generation: undefined }, { append: async () => [] });
  for (const wrong of ['order.placed', undefined, { orderId: 'ord_1' }]) {
    await expect(send('tx', wrong as never, {})).rejects.toThrow(
      /^send\(\) cannot work as written: event is .*send\(tx, event, payload\)/,
    );
  }
});

describe('event', () => {
  test('refuses what cannot be one, all named', () => {
    const make = (): unknown =>
      event('order placed', { schema: {}, key: 'id', order: 'sometimes', retries: 1 } as never);
    expect(make).toThrow(/type is.*retries is not an option.*schema is.*key is.*order is/);
    expect(() => event('a', { order: 'strict' })).toThrow('give the event a key');
  });
});
