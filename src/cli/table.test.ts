import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { displayWidth } from '../retry-notice/terminal-text.ts';
import { type Column, formatFields, formatTable } from './table.ts';

interface Row {
  readonly id: string;
  readonly count: number | undefined;
  readonly text: string;
}

const columns: readonly Column<Row>[] = [
  { title: 'ID', value: (row) => row.id },
  { title: 'COUNT', value: (row) => row.count, align: 'right' },
  { title: 'TEXT', value: (row) => row.text, shrinkTo: 6 },
];
const rows: readonly Row[] = [
  { id: 'a1', count: 5, text: 'short' },
  { id: 'b2', count: undefined, text: 'a text that is longer than there is room for' },
];

describe('a table', () => {
  test('is aligned, numbers to the right, with a dash where nothing is known', () => {
    expect(formatTable(rows, columns, { width: 80 })).toBe(
      ['ID  COUNT  TEXT', 'a1      5  short', 'b2      –  a text that is longer than there is room for', ''].join('\n'),
    );
  });

  test('gives way where it may, and keeps what must be copied whole', () => {
    expect(formatTable(rows, columns, { width: 20 })).toBe(
      ['ID  COUNT  TEXT', 'a1      5  short', 'b2      –  a text t…', ''].join('\n'),
    );
  });

  test('is never wider than the terminal, whatever is in it', () => {
    const row = fc.record({
      id: fc.string({ unit: fc.constantFrom('a', '漢', '\u001B[2J', '\n', '\u202E', '\ud83d'), maxLength: 10 }),
      count: fc.option(fc.nat(), { nil: undefined }),
      text: fc.string({ unit: 'grapheme', maxLength: 20 }),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 3 }), fc.integer({ min: 1, max: 40 }), (some, width) => {
        const lines = formatTable(some, columns, { width }).split('\n').slice(0, -1);
        expect(lines).toHaveLength(some.length + 1);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  test('holds no control sequence of a message', () => {
    const evil = [{ id: 'a', count: 1, text: '\u001B[2Jgone\nnext \u202Eline' }];
    expect(formatTable(evil, columns, { width: 80 })).toBe('ID  COUNT  TEXT\na       1  gone next line\n');
  });

  test('colours a cell without counting the colour', () => {
    const painted: readonly Column<Row>[] = [
      { title: 'ID', value: (row) => row.id, paint: (text) => `<${text}>` },
      { title: 'N', value: (row) => row.count },
    ];
    expect(formatTable(rows.slice(0, 1), painted, { width: 8, title: (text) => `*${text}*` })).toBe(
      '*ID*  *N*\n<a1>  5\n',
    );
  });
});

describe('fields', () => {
  test('leave out what is not there and indent further lines', () => {
    const text = formatFields([
      ['id', 'a1'],
      ['key', undefined],
      ['payload', '{\n  "a": "\u001B[31mred"\n}'],
    ]);
    expect(text).toBe('id       a1\npayload  {\n           "a": "red"\n         }\n');
  });
});
