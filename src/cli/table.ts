import { displayWidth, fitColumns, terminalSafe } from '../retry-notice/terminal-text.ts';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | undefined;
  readonly align?: 'right';
  /** Gives way when the table is wider than the terminal; down to its title, or this many columns. Others stay whole. */
  readonly shrinkTo?: number;
  /** Colours the finished cell, padding included. */
  readonly paint?: (text: string, row: Row) => string;
}

const GAP = 2;
/** Where nothing is known. */
const EMPTY = '–';

/**
 * The rows as an aligned table with a line of titles, no line longer than `width`. Cells hold no control characters, whatever
 * a message brought in.
 */
export function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { width, title = (text) => text }: { readonly width: number; readonly title?: (text: string) => string },
): string {
  const cells = rows.map((row) => columns.map((column) => cellText(column.value(row))));
  const natural = columns.map((column, i) =>
    Math.max(displayWidth(column.title), ...cells.map((line) => displayWidth(line[i] ?? ''))),
  );
  const widths = shrink(natural, columns, width);
  const render = (texts: readonly string[], paint: (text: string, i: number) => string): string =>
    cutLine(
      texts.map((text, i) => [text, widths[i] ?? 0, columns[i]?.align] as const),
      width,
      paint,
    );
  const head = render(
    columns.map((column) => column.title),
    (text) => title(text),
  );
  const body = cells.map((line, at) =>
    render(line, (text, i) => {
      const row = rows[at];
      return row === undefined ? text : (columns[i]?.paint?.(text, row) ?? text);
    }),
  );
  return [head, ...body].map((line) => `${line}\n`).join('');
}

function cellText(value: string | number | undefined): string {
  const text = terminalSafe(String(value ?? ''));
  return text === '' ? EMPTY : text;
}

/** Takes what is too much from the columns that may give way, always from the widest of them. */
function shrink<Row>(natural: readonly number[], columns: readonly Column<Row>[], width: number): number[] {
  const widths = [...natural];
  const floor = columns.map((column, i) =>
    column.shrinkTo === undefined ? (natural[i] ?? 0) : Math.max(column.shrinkTo, displayWidth(column.title)),
  );
  const total = (): number => widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1);
  for (let over = total() - width; over > 0; over -= 1) {
    let widest = -1;
    for (const [i, one] of widths.entries()) {
      if (one > (floor[i] ?? 0) && one > (widths[widest] ?? 0)) widest = i;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** The cells side by side; where even that is too wide, the line is cut at the edge. The last one is not padded. */
function cutLine(
  cells: readonly (readonly [text: string, width: number, align: 'right' | undefined])[],
  width: number,
  paint: (text: string, i: number) => string,
): string {
  let line = '';
  let left = width;
  for (const [i, [text, wanted, align]] of cells.entries()) {
    if (i > 0) {
      line += ' '.repeat(Math.min(GAP, left));
      left -= GAP;
    }
    const room = Math.min(wanted, left);
    if (room <= 0) break;
    const cut = fitColumns(text, room);
    const padding = ' '.repeat(room - displayWidth(cut));
    const padded = align === 'right' ? padding + cut : i === cells.length - 1 ? cut : cut + padding;
    line += paint(padded, i);
    left -= room;
  }
  return line.trimEnd();
}

/** Pairs as two columns, `name  value`, for showing one thing. Values may have several lines and are not cut. */
export function formatFields(
  fields: readonly (readonly [name: string, value: string | number | undefined])[],
  name: (text: string) => string = (text) => text,
): string {
  const shown = fields.filter(([, value]) => value !== undefined && value !== '');
  const width = Math.max(0, ...shown.map(([label]) => displayWidth(label)));
  return shown
    .map(([label, value]) => {
      const [first = '', ...rest] = String(value).split('\n').map(terminalLine);
      const indent = ' '.repeat(width + GAP);
      return `${name(label)}${' '.repeat(width - displayWidth(label) + GAP)}${[first, ...rest.map((line) => indent + line)].join('\n')}\n`;
    })
    .join('');
}

/** One line that is safe for a terminal and keeps its indentation. */
export function terminalLine(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return indent + terminalSafe(line);
}
