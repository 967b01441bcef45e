import type { ReactElement } from 'react';
import { count } from '../parts/figures.ts';
import type { Bulk } from './bulk-list-page.tsx';

/** Outcomes from the first to the last of the bar, with their colours. */
const PARTS = [
  ['succeeded', 'ok'],
  ['discarded', 'gone'],
  ['skipped', 'gone'],
  ['dropped', 'gone'],
  ['failed', 'failed'],
  ['started', 'flight'],
] as const;

/** How many have their outcome. */
function endedOf({ counts }: Pick<Bulk, 'counts'>): number {
  return counts.succeeded + counts.failed + counts.discarded + counts.skipped + counts.dropped;
}

/** How far it is, by outcome. */
export function ProgressBar({ bulk }: { readonly bulk: Pick<Bulk, 'counts' | 'total'> }): ReactElement {
  const { counts, total } = bulk;
  let x = 0;
  return (
    <span className="progress">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {PARTS.map(([outcome, tone]) => {
          const width = total === 0 ? 0 : (counts[outcome] / total) * 100;
          const from = x;
          x += width;
          return <rect key={outcome} className={`bar-${tone}`} x={from} width={width} height={6} />;
        })}
      </svg>
      <span className="figure">
        {count(endedOf(bulk))} of {count(total)}
      </span>
    </span>
  );
}
