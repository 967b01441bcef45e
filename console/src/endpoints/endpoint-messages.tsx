import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { type Delivery, stateOfDelivery } from '../deliveries/delivery-state.ts';
import { Ago } from '../parts/ago.tsx';
import { ListFrame, useListed } from '../parts/listed.tsx';
import { Empty } from '../parts/notice.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useStill } from '../parts/still.ts';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { resendAct } from './endpoint-acts.ts';

const COLUMNS: readonly Column<Delivery>[] = [
  { head: 'State', card: 'lead', cell: (row) => <StateMark state={stateOfDelivery(row)} /> },
  {
    head: 'Event',
    isWide: true,
    card: 'title',
    cell: ({ messageId, request }) => (
      <Link to="/deliveries/$id" params={{ id: messageId }} title={messageId}>
        <bdi>{request.eventType ?? messageId}</bdi>
      </Link>
    ),
  },
  { head: 'Attempts', isFigure: true, cell: ({ attempts, request }) => `${attempts} of ${request.retries + 1}` },
  {
    head: 'Next attempt',
    isFigure: true,
    cell: ({ nextAt, state }) => <Ago at={state === 'waiting' ? nextAt : undefined} />,
  },
  { head: 'Sent', isFigure: true, card: 'end', cell: ({ createdAt }) => <Ago at={createdAt} /> },
  {
    head: 'Do',
    isActions: true,
    cell: ({ messageId, state, request: { endpointId = '' } }) =>
      state === 'waiting' ? <span className="muted">–</span> : <Resend id={endpointId} messageId={messageId} />,
  },
];

function Resend({ id, messageId }: { readonly id: string; readonly messageId: string }): ReactElement {
  const { ask } = useActs();
  return (
    <button type="button" onClick={() => ask(resendAct(id, messageId))}>
      Resend
    </button>
  );
}

/** What was sent to an endpoint, the newest first. */
export function EndpointMessages({ id }: { readonly id: string }): ReactElement {
  const { canOperate } = useRights();
  const [isStill, still] = useStill();
  const listed = useListed('delivery/messages', { flowKey: `endpoint:${id}` }, { isLive: !isStill });
  return (
    <section className="block" aria-label="Messages" {...still}>
      <h2>Messages</h2>
      <ListFrame
        listed={listed}
        empty={<Empty title="Nothing was sent to it yet">An event of the types it asks for appears here.</Empty>}
      >
        <Rows
          label="Messages of the endpoint"
          columns={canOperate ? COLUMNS : COLUMNS.slice(0, -1)}
          rows={listed.items}
          idOf={({ messageId }) => messageId}
        />
      </ListFrame>
    </section>
  );
}
