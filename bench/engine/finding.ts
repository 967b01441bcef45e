import type { BenchDatabase } from './bench-database.ts';

/** What a measure is given. */
export interface Bench {
  readonly database: BenchDatabase;
  /** Smaller counts: shows that everything works, and roughly how fast. */
  readonly isQuick: boolean;
  /** Progress, for a person who waits. */
  readonly say: (line: string) => void;
}

/** What one measure found: a line of the table. */
export interface Finding {
  readonly measure: string;
  readonly ours: string;
  /** What it is compared with. */
  readonly others: string;
  /** Ours against theirs, where that is what the goal is about. */
  readonly ratio?: number;
  readonly goal: string;
  /** Absent where there is no goal. */
  readonly isReached?: boolean;
}

/** Rates of several rounds by contestant. */
export type Rates = ReadonlyMap<string, number>;

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function perSecond(rate: number): string {
  return `${Math.round(rate).toLocaleString('en')}/s`;
}

/** `a 1,000/s, b 2,000/s` */
export function listRates(rates: Rates): string {
  return [...rates].map(([name, rate]) => `${name} ${perSecond(rate)}`).join(', ');
}

/** The findings as a table of text, the columns as wide as their widest cell. */
export function renderTable(findings: readonly Finding[]): string {
  const verdict = ({ isReached }: Finding): string =>
    isReached === undefined ? 'info' : isReached ? 'reached' : 'MISSED';
  const rows = [
    ['measure', 'ours', 'others', 'ratio', 'goal', ''],
    ...findings.map((f) => [f.measure, f.ours, f.others, f.ratio?.toFixed(2) ?? '', f.goal, verdict(f)]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
