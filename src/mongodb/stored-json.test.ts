import { describe, expect, test } from 'vitest';
import { jsonText, storedJson } from './stored-json.ts';

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('JSON in a document', () => {
  test('is an object or a list where that gives back the same text [S1.4]', () => {
    for (const text of ['{}', '[]', '{"orderId":"ord_1","lines":[{"n":1.5},null,true]}', deep(50)]) {
      expect(typeof storedJson(text)).toBe('object');
      expect(jsonText(storedJson(text))).toBe(text);
    }
  });

  test('is its text where MongoDB or the driver would change it [S1.4]', () => {
    const kept = [
      '1',
      'null',
      '"a"',
      'no JSON',
      '{ "a": 1 }',
      '{"a":1,"a":1}',
      '{"a":-0}',
      '{"a":12345678901234567890}',
      String.raw`{"a":"\ud800"}`,
      String.raw`{"\ud800":1}`,
      '{"$where":1}',
      '{"a":{"$ref":"x","$id":1}}',
      '{"a.b":1}',
      String.raw`{"a\u0000":1}`,
      '{"__proto__":1}',
      '{"_bsontype":"ObjectId"}',
      deep(51),
    ];
    for (const text of kept) expect(storedJson(text)).toBe(text);
  });
});
