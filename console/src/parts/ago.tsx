import type { ReactElement } from 'react';
import { useNow } from './clock.ts';
import { exact, relative } from './span-of-time.ts';

/** A time, relative; the exact one on hover, and on paper. */
export function Ago({ at }: { readonly at: string | undefined }): ReactElement {
  const now = useNow();
  if (at === undefined) return <span className="muted">–</span>;
  return (
    <time className="ago" dateTime={at} title={exact(at)} data-exact={exact(at)}>
      {relative(Date.parse(at), now)}
    </time>
  );
}
