import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromFields, toFields } from './stream-entry.ts';

const name = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'key', 'data', 'h_a', 'ce_type', 'toString'),
  fc.string(),
);
const texts = fc.array(fc.tuple(name, fc.string())).map((pairs) => Object.fromEntries(pairs) as Record<string, string>);

describe('an entry of a stream', () => {
  test('is read as the message that was written, whatever its headers are called [S1.5]', () => {
    const message = fc.record({
      key: fc.option(fc.string(), { nil: undefined }),
      attributes: texts,
      headers: texts,
      body: fc.uint8Array(),
    });
    fc.assert(
      fc.property(message, ({ key, attributes, headers, body }) => {
        const read = fromFields('redis:orders@1-0', toFields({ key, attributes, headers, body }));
        expect([read.key, [...read.body]]).toEqual([key, [...body]]);
        expect(new Map(Object.entries(read.headers))).toEqual(new Map(Object.entries(headers)));
        expect(new Map(Object.entries(read.attributes))).toEqual(new Map(Object.entries(attributes)));
      }),
    );
  });
});
