import type { ReactElement } from 'react';

/** As it was typed. */
export interface Pace {
  readonly canary: string;
  readonly perSecond: string;
}

/** How carefully: a few first, and at most so many a second. */
export function PaceFields({
  pace,
  change,
}: {
  readonly pace: Pace;
  readonly change: (pace: Pace) => void;
}): ReactElement {
  return (
    <>
      <label>
        Canary
        <input
          type="number"
          min={0}
          max={1_000}
          data-focus
          inputMode="numeric"
          placeholder="none"
          value={pace.canary}
          onChange={(event) => change({ ...pace, canary: event.target.value })}
        />
        <small className="muted">So many first; the rest goes on only if all of them succeed.</small>
      </label>
      <label>
        Pace, a second
        <input
          type="number"
          min={0.1}
          max={10_000}
          step="any"
          inputMode="decimal"
          placeholder="as fast as they can be written"
          value={pace.perSecond}
          onChange={(event) => change({ ...pace, perSecond: event.target.value })}
        />
        <small className="muted">At most so many are started a second: spare what has just come back.</small>
      </label>
    </>
  );
}
