/** One line of a comparison. */
export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

// Above this the lines between the first and the last change are shown as replaced: exact, only less short.
const MOST_CELLS = 1_000_000;

/** What changed from one text to another, line by line. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const line =
    (kind: DiffLine['kind']) =>
    (text: string): DiffLine => ({ kind, text });
  return [
    ...a.slice(0, head).map(line('same')),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(line('same')),
  ];
}

const removed = (text: string): DiffLine => ({ kind: 'removed', text });
const added = (text: string): DiffLine => ({ kind: 'added', text });

function between(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  if (a.length * b.length > MOST_CELLS) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  // The length of the longest common part from (i, j) on.
  const common = new Uint32Array((a.length + 1) * width);
  const cell = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const before = a[i];
    const after = b[j];
    if (before !== undefined && before === after) {
      lines.push({ kind: 'same', text: before });
      i += 1;
      j += 1;
    } else if (before !== undefined && (after === undefined || cell(i + 1, j) >= cell(i, j + 1))) {
      lines.push(removed(before));
      i += 1;
    } else {
      lines.push(added(after ?? ''));
      j += 1;
    }
  }
  return lines;
}
