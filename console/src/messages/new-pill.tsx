import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { ask } from '../api/client.ts';
import type { Answer } from '../api/wire.ts';
import { useLive } from '../shell/live.tsx';

const MOST = 50;

/** "12 new": what came since the list was read. The list does not move before it is asked to. */
export function NewPill({
  filter,
  newest,
  isEmpty,
  show,
}: {
  readonly filter: Readonly<Record<string, string>>;
  readonly newest: string | undefined;
  readonly isEmpty: boolean;
  readonly show: () => void;
}): ReactElement {
  const { isLive } = useLive();
  const { data } = useQuery({
    queryKey: ['new', filter, newest],
    queryFn: ({ signal }) => {
      // The newest shown is of this millisecond itself.
      const since = newest === undefined ? undefined : new Date(Date.parse(newest) + 1).toISOString();
      return ask<Answer<'messages'>>('messages', { ...filter, since, limit: MOST }, signal);
    },
    enabled: isLive && (newest !== undefined || isEmpty) && filter['until'] === undefined,
    meta: { live: true },
  });
  const many = data?.items.length ?? 0;
  return (
    <div className="pill-place" aria-live="polite">
      {many === 0 ? null : (
        <button type="button" className="pill" onClick={show}>
          {many >= MOST ? `${MOST}+` : many} new
        </button>
      )}
    </div>
  );
}
