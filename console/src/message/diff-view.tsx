import type { ReactElement } from 'react';
import { counted } from '../parts/figures.ts';
import { type DiffLine, lineDiff } from './line-diff.ts';

const AROUND = 3;
const SIGNS = { same: ' ', added: '+', removed: '-' } as const;

/** Lines near a change; how many are left out stands between them. */
function near(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const shown: (DiffLine | number)[] = [];
  lines.forEach((line, at) => {
    const isNear = lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same');
    const last = shown.at(-1);
    if (isNear) shown.push(line);
    else if (typeof last === 'number') shown[shown.length - 1] = last + 1;
    else shown.push(1);
  });
  return shown;
}

/** What an edit changes. */
export function DiffView({ before, after }: { readonly before: string; readonly after: string }): ReactElement {
  const lines = lineDiff(before, after);
  if (lines.every(({ kind }) => kind === 'same')) return <p className="muted">Nothing is changed yet.</p>;
  return (
    <pre className="diff" tabIndex={0} aria-label="What the edit changes">
      {near(lines).map((line, at) =>
        typeof line === 'number' ? (
          <div key={at} className="cut">
            {counted(line, 'line')} unchanged
          </div>
        ) : (
          <div key={at} className={line.kind}>
            {SIGNS[line.kind]} {line.text}
          </div>
        ),
      )}
    </pre>
  );
}
