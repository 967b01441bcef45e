import { formatPlace, formatRatio } from '../result/format.ts';
import type { Result, Verdict } from '../result/result.ts';
import type { Report } from './report.ts';
import { table } from './render-markdown.ts';

/** Ours against another package, as it may be said in public. */
export interface Claim {
  readonly measure: string;
  readonly against: string;
  readonly ratio: number;
  /** What measures it again. */
  readonly command: string;
}

/** Every comparison with another package, in our favour or not: what is claimed is not chosen. */
export function claimsOf({ topics }: Report): Claim[] {
  return topics.flatMap(({ name, results }) =>
    results.flatMap((result) =>
      result.verdicts
        .filter(({ role }) => role === 'peer')
        .map((verdict) => ({
          measure: measureOf(result, verdict),
          against: verdict.against ?? '',
          ratio: verdict.ratio ?? Number.NaN,
          command: `npm run bench -- ${name} ${result.id.split('.')[0]}`,
        })),
    ),
  );
}

function measureOf({ measure, along }: Result, { at }: Verdict): string {
  if (at === undefined) return measure;
  return `${measure} (${typeof at === 'number' ? `${along}: ${formatPlace(at)}` : at})`;
}

/** The claims as they stand in README.md. A quick run claims nothing. */
export function renderClaims(report: Report): string {
  if (report.isQuick)
    return 'The report in the repository is of a quick run, so no ratios are claimed here; `npm run bench` measures them.';
  const rows = claimsOf(report).map(({ measure, against, ratio, command }) => [
    measure,
    against,
    ratio < 1 ? `${formatRatio(ratio)}, slower` : formatRatio(ratio),
    `\`${command}\``,
  ]);
  return table(['measure', 'the best of the others', 'times as fast', 'again'], rows);
}
