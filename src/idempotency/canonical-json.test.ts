import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

const name = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '"', '0', '1'), maxLength: 3 });
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    name,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value;

function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([field, item]) => [field, turned(item)]));
}

test('the same JSON gives one text, in whatever order its fields came, and the text is that JSON [S1.2]', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value) ?? '';
      expect(canonicalJson(turned(value))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('another JSON gives another text [S1.2]', () => {
  fc.assert(
    fc.property(json, json, (one, two) => {
      const [first, second] = [canonicalJson(one) ?? '', canonicalJson(two) ?? ''];
      if (first === second) expect(JSON.parse(JSON.stringify(one))).toEqual(JSON.parse(JSON.stringify(two)));
    }),
  );
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  expect(canonicalJson({ a: null })).not.toBe(canonicalJson({}));
  expect(canonicalJson('1')).not.toBe(canonicalJson(1));
});

test('numbers, letters and things that write themselves are as JSON has them', () => {
  expect(canonicalJson([1e2, -0, 0.1, 12345678901234567890n])).toBe('[100,0,0.1,12345678901234567890]');
  expect(canonicalJson({ 'e\u0301': 'e\u0301' })).toBe(canonicalJson({ '\u00e9': '\u00e9' }));
  expect(canonicalJson({ at: new Date(0), left: undefined })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  expect(canonicalJson(undefined)).toBe('null');
});

test('values behind names that speak of a secret count as others do', () => {
  for (const secret of ['password', 'key', 'token', 'pin']) {
    expect(canonicalJson({ a: 1, [secret]: 'x' })).not.toBe(canonicalJson({ a: 1, [secret]: 'y' }));
  }
});

test('what is nested deeper than 500 levels has no text', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 499; i++) deep = [deep];
  expect(canonicalJson(deep)).toBeDefined();
  expect(canonicalJson([deep])).toBeUndefined();
});
