import { expect } from 'vitest';
import type { SqlParam, SqlRunner } from '../../../src/postgres/sql-runner.ts';

/** Every kind of parameter comes back from the server as it was sent. */
export async function roundTrip(runner: SqlRunner): Promise<void> {
  const awkward = [
    `it's "quoted"`,
    'back\\slash \\" \\N',
    '{a,b}',
    'NULL',
    'null',
    '',
    ' ',
    '👩‍👩‍👧 é \u{10ffff}',
    'line\nline\t\r',
    '$1',
    '[]',
  ];
  for (const text of awkward) {
    expect(await runner.query('select $1::text as value', [text])).toEqual([{ value: text }]);
  }
  const values: [string, SqlParam, string | null][] = [
    ['$1::text', null, null],
    ['$1::text::int', 42, '42'],
    ['$1::text::bigint', 9_007_199_254_740_993n, '9007199254740993'],
    ['$1::text::boolean', true, 'true'],
    ['$1::text::boolean', false, 'false'],
    ['$1::text::jsonb', '{"a": "\\"\\\\ 👍"}', '{"a": "\\"\\\\ 👍"}'],
    [`($1::text::timestamptz at time zone 'UTC')`, '2026-01-02T03:04:05.123456Z', '2026-01-02 03:04:05.123456'],
  ];
  for (const [expression, param, value] of values) {
    expect(await runner.query(`select (${expression})::text as plain_value`, [param])).toEqual([
      { plain_value: value },
    ]);
  }
  const uuid = '5f0c8a52-7c1e-4a44-8b0e-3d1b7a1f2c3d';
  const many = Array.from({ length: 10_000 }, (_, i) => (i % 7 === 0 ? null : `${awkward[i % awkward.length]}${i}`));
  const arrays: [string, readonly (string | null)[]][] = [
    ['text', []],
    ['text', [null]],
    ['text', [null, ...awkward]],
    ['text', many],
    ['uuid', [uuid, null]],
    ['uuid', []],
    ['jsonb', ['{"a": ["\\"", "\\\\"]}', null, 'null', '"text"']],
  ];
  for (const [type, items] of arrays) {
    // Element by element as text, so that no driver's reading of arrays has a part in it.
    const unpacked = await runner.query(
      `select item::text as array_item from unnest($1::text[]::${type}[]) with ordinality as u(item, nth) order by nth`,
      [items],
    );
    expect(unpacked.map((row) => row['array_item'])).toEqual(items);
  }
  const together = await runner.query('select cardinality($1::text[]) as first_size, $2::text as other', [
    ['a', 'b'],
    'x',
  ]);
  expect(together).toEqual([{ first_size: 2, other: 'x' }]);
  expect(await runner.query('select 1 as value where false')).toEqual([]);
}
