import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { cleaned, usePlace } from './place.ts';

// The router would mark every link to this page.
const NOTHING = {};

/** A few choices of which one holds; the choice stands in the address. */
export function SegmentLinks({
  label,
  name,
  value,
  usual,
  choices,
}: {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  /** The choice that needs no word in the address. */
  readonly usual: string;
  readonly choices: readonly (readonly [value: string, title: string, note?: string | undefined])[];
}): ReactElement {
  const [search] = usePlace();
  return (
    <div className="segments" role="group" aria-label={label}>
      {choices.map(([one, title, note]) => (
        <Link
          key={one}
          to="."
          search={cleaned({ ...search, [name]: one === usual ? undefined : one })}
          aria-current={one === value ? 'true' : undefined}
          className={one === value ? 'picked' : ''}
          activeProps={NOTHING}
        >
          {title}
          {note === undefined ? null : <span className="note">{note}</span>}
        </Link>
      ))}
    </div>
  );
}
