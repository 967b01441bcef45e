import type { ReactElement } from 'react';
import { Icon } from '../parts/icon.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { useToast } from '../shell/toasts.tsx';
import { limitAct, pauseAct, resumeAct, retireAct } from './handler-acts.ts';
import { type HandlerRow, nameOf, stateOfHandler } from './handler-state.ts';

/** What can be done to a handler. */
export function HandlerActions({ row }: { readonly row: HandlerRow }): ReactElement {
  const { canAdminister } = useRights();
  const { ask, perform } = useActs();
  const toast = useToast();
  const name = nameOf(row);
  const state = stateOfHandler(row);
  const resume = (): void => {
    perform(resumeAct(name)).catch((error: Error) => toast({ text: error.message, isError: true }));
  };
  if (state === 'retired') return <span className="muted">–</span>;
  return (
    <span className="row-actions">
      {row.pausedAt === undefined ? (
        <button type="button" onClick={() => ask(pauseAct(name))}>
          <Icon name="pause" /> Pause
        </button>
      ) : (
        <button type="button" onClick={resume}>
          <Icon name="play" /> Resume
        </button>
      )}
      {canAdminister ? (
        <button type="button" onClick={() => ask(limitAct(name, row.limit))}>
          Limit
        </button>
      ) : null}
      {canAdminister && row.workers.length === 0 ? (
        <button type="button" onClick={() => ask(retireAct(name))}>
          Retire
        </button>
      ) : null}
    </span>
  );
}
