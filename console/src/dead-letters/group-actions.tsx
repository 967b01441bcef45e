import type { ReactElement } from 'react';
import { useToast } from '../shell/toasts.tsx';
import { type Act, useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights } from '../shell/session.tsx';
import type { ErrorGroup } from './group-list.tsx';

type Change = Pick<Act, 'path' | 'body' | 'done'>;

function changes(id: string): Readonly<Record<'resolve' | 'ignore' | 'reopen', Change>> {
  const path = `groups/${encodeURIComponent(id)}`;
  return {
    resolve: { path: `${path}/resolve`, done: () => 'Resolved. It opens by itself when it happens again.' },
    ignore: { path: `${path}/ignore`, done: () => 'Ignored: nobody is called, however often it happens.' },
    reopen: { path: `${path}/reopen`, done: () => 'Open again.' },
  };
}

/** Resolve, ignore, reopen. Each can be taken back. */
export function GroupActions({ group }: { readonly group: ErrorGroup }): ReactElement | null {
  const { canOperate } = useRights();
  const isMongodb = useIsMongodb();
  const { perform } = useActs();
  const toast = useToast();
  const { resolve, ignore, reopen } = changes(group.id);
  if (!canOperate || isMongodb) return null;
  const run = (change: Change, undo: Change): void => {
    perform({ ...change, undo }).catch((error: Error) => toast({ text: error.message, isError: true }));
  };
  const back = group.state === 'ignored' ? ignore : resolve;
  return group.state === 'open' ? (
    <>
      <button type="button" onClick={() => run(resolve, reopen)}>
        Resolve
      </button>
      <button type="button" className="quiet" onClick={() => run(ignore, reopen)}>
        Ignore
      </button>
    </>
  ) : (
    <button type="button" onClick={() => run(reopen, back)}>
      Reopen
    </button>
  );
}
