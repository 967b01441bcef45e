import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactElement } from 'react';
import { whyQuery } from '../api/queries.ts';
import { toneOf, wordOf } from '../parts/state-mark.tsx';
import type { MessageDetail } from './message-page.tsx';

type Delivery = MessageDetail['deliveries'][number];

/** Columns of the drawing, from left to right; below each other stand the states between which it goes back and forth. */
const COLUMNS: readonly (readonly string[])[] = [
  ['scheduled', 'ready', 'parked'],
  ['in_flight', 'retrying'],
  ['delivered', 'failed', 'discarded'],
];

/** Those that are drawn although nothing is there: the way of most messages. */
const ALWAYS = ['ready', 'in_flight', 'retrying', 'delivered', 'failed'];

function stateOf(delivery: Delivery, isParked: boolean): string {
  if (delivery.running !== undefined) return 'in_flight';
  if (isParked) return 'parked';
  if (delivery.status === 'cancelled') return 'discarded';
  if (delivery.status !== 'waiting') return delivery.status;
  return delivery.attempts === 0 && delivery.error === undefined ? 'scheduled' : 'retrying';
}

/** The states a delivery goes through, with those lit where this message's deliveries are. */
export function StateDrawing({ message }: { readonly message: MessageDetail }): ReactElement {
  const { data: why = [] } = useQuery(whyQuery(message.id));
  const parked = why.filter(({ reason }) => reason.kind === 'behind' && reason.state === 'failed').map(({ id }) => id);
  const states = message.deliveries.map((delivery) => stateOf(delivery, parked.includes(delivery.id)));
  return (
    <ol className="drawing" aria-label="States">
      {COLUMNS.map((column, at) => (
        <Fragment key={column[0]}>
          {at === 0 ? null : <li className="arrow" aria-hidden="true" />}
          <li>
            {column
              .filter((state) => ALWAYS.includes(state) || states.includes(state))
              .map((state) => (
                <StateBox
                  key={state}
                  state={state}
                  many={states.filter((one) => one === state).length}
                  all={states.length}
                />
              ))}
          </li>
        </Fragment>
      ))}
    </ol>
  );
}

function StateBox({
  state,
  many,
  all,
}: {
  readonly state: string;
  readonly many: number;
  readonly all: number;
}): ReactElement {
  return (
    <span
      className={`state-box tone-${toneOf(state)} ${many > 0 ? 'lit' : ''}`}
      aria-current={many > 0 ? 'step' : undefined}
    >
      {wordOf(state)}
      {many > 0 && all > 1 ? ` ${many}` : ''}
    </span>
  );
}
