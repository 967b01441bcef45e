import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { whyQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { useNow } from '../parts/clock.ts';
import { MessageLink } from '../parts/message-link.tsx';
import { duration, exact } from '../parts/span-of-time.ts';

type DeliveryReason = Extract<Answer<'why'>, { kind: 'why' }>['deliveries'][number];

const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** The sentence with its times as the reader's clock shows them. */
function inOwnTime(sentence: string): string {
  return sentence.replaceAll(ISO, (at) => exact(at));
}

/** Why each handler is not done, what happens next, and when. What is done says nothing, unless all are. */
export function WhySentences({ id }: { readonly id: string }): ReactElement | null {
  const { data } = useQuery(whyQuery(id));
  if (data === undefined) return <div className="why-place" />;
  const left = data.filter(({ reason }) => reason.kind !== 'delivered');
  const shown = left.length > 0 ? left : data.slice(0, 1);
  return (
    <ul className="why" aria-label="Why, and what happens next">
      {shown.map((one) => (
        <WhyLine key={one.id} one={one} isNamed={data.length > 1 && left.length > 0} />
      ))}
    </ul>
  );
}

function WhyLine({ one, isNamed }: { readonly one: DeliveryReason; readonly isNamed: boolean }): ReactElement {
  const { reason, handler, sentence } = one;
  return (
    <li>
      {isNamed && handler !== undefined ? <strong>{handler}: </strong> : null}
      <bdi>{inOwnTime(sentence)}</bdi>
      {'dueAt' in reason ? <Countdown at={reason.dueAt} /> : null}
      {reason.kind === 'behind' ? (
        <>
          {' '}
          <MessageLink id={reason.messageId} />
        </>
      ) : null}
    </li>
  );
}

function Countdown({ at }: { readonly at: string }): ReactElement | null {
  const now = useNow();
  const leftMs = Date.parse(at) - now;
  if (leftMs <= 0) return <span className="countdown">due now</span>;
  return <span className="countdown">in {duration(Math.ceil(leftMs / 1_000) * 1_000)}</span>;
}
