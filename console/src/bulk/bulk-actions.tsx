import type { ReactElement } from 'react';
import { count } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import type { Bulk } from './bulk-list-page.tsx';

/** Pause, resume, cancel: what its state allows. */
export function BulkActions({ bulk }: { readonly bulk: Bulk }): ReactElement | null {
  const { canOperate } = useRights();
  const { ask } = useActs();
  const { id, state, counts, verb } = bulk;
  const path = `bulk/${id}`;
  if (!canOperate || state === 'done' || state === 'cancelled') return null;
  const left = count(counts.selected);
  return (
    <>
      {state === 'running' || state === 'canary' ? (
        <button
          type="button"
          onClick={() =>
            ask({
              title: 'Pause it?',
              text: 'What has begun goes on; nothing further begins.',
              verb: 'Pause',
              path: `${path}/pause`,
              done: () => 'Paused.',
            })
          }
        >
          <Icon name="pause" /> Pause
        </button>
      ) : null}
      {state === 'paused' ? (
        <button
          type="button"
          className="primary"
          onClick={() =>
            ask({
              title: `Resume with ${left} left?`,
              verb: 'Resume',
              path: `${path}/resume`,
              done: () => 'It goes on.',
            })
          }
        >
          <Icon name="play" /> Resume
        </button>
      ) : null}
      <button
        type="button"
        onClick={() =>
          ask({
            title: `Cancel the ${verb} of the ${left} not begun?`,
            text: 'What has begun goes on; the rest never begins. Those stay dead letters.',
            verb: `Cancel ${left}`,
            isDanger: true,
            path: `${path}/cancel`,
            done: () => 'Cancelled: what had not begun never will.',
          })
        }
      >
        Cancel
      </button>
    </>
  );
}
