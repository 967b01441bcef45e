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

  test('of any JSON is taken or refused, and what is taken comes back equal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: 'binary' }), async (value) => {
        const text = await serializePayload(plain, value).catch(() => undefined);
        if (text !== undefined) expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
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
