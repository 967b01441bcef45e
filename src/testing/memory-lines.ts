import type { MemoryRow } from './memory-row.ts';

/** The open rows, by unit and in the order of `seq`. */
export class MemoryLines {
  readonly #lines = new Map<number, MemoryRow[]>();
  readonly #unitOf = new Map<number, number>();

  add(row: MemoryRow): void {
    const line = this.#lines.get(row.unit);
    this.#unitOf.set(row.seq, row.unit);
    if (!line) this.#lines.set(row.unit, [row]);
    else line.splice(indexAfter(line, row.seq), 0, row);
  }

  remove(row: MemoryRow): void {
    const line = this.#lines.get(row.unit) ?? [];
    const at = indexAfter(line, row.seq) - 1;
    if (line[at] === row) line.splice(at, 1);
    this.#unitOf.delete(row.seq);
  }

  find(unit: number, seq: number): MemoryRow | undefined {
    if (this.#unitOf.get(seq) !== unit) return undefined;
    const line = this.#lines.get(unit) ?? [];
    return line[indexAfter(line, seq) - 1];
  }

  line(unit: number): readonly MemoryRow[] {
    return this.#lines.get(unit) ?? [];
  }

  all(): readonly MemoryRow[] {
    return [...this.#lines.values()].flat().sort((a, b) => a.seq - b.seq);
  }
}

/** Where the first row above `seq` is. */
export function indexAfter(line: readonly MemoryRow[], seq: number): number {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((line[middle]?.seq ?? Infinity) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
