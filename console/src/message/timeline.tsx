import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { forecastQuery } from '../api/queries.ts';
import { Ago } from '../parts/ago.tsx';
import { clock } from '../parts/span-of-time.ts';
import { toneOf } from '../parts/state-mark.tsx';
import { useIsMongodb } from '../shell/session.tsx';
import type { MessageDetail } from './message-page.tsx';
import { type Step, timelineOf } from './timeline-of.ts';

/** What happened to a message, and what will if it goes on failing. */
export function Timeline({ message }: { readonly message: MessageDetail }): ReactElement {
  const isMongodb = useIsMongodb();
  const isOpen = message.deliveries.some(({ status }) => status === 'ready' || status === 'waiting');
  return (
    <section className="block" aria-label="Timeline">
      <h2>
        Timeline
        {isMongodb ? null : (
          <Link to="/trace" search={{ id: message.correlationId ?? message.id }} className="aside-link">
            Trace the whole action
          </Link>
        )}
      </h2>
      <ol className="timeline">
        {timelineOf(message).map((step, at) => (
          <StepLine key={at} step={step} />
        ))}
        {isOpen ? <Planned id={message.id} /> : null}
      </ol>
    </section>
  );
}

function StepLine({ step }: { readonly step: Step }): ReactElement {
  const { at, state, title, detail, stack } = step;
  return (
    <li className={`tone-${toneOf(state)}`}>
      <div className="step-head">
        <strong>
          <bdi>{title}</bdi>
        </strong>
        <span className="step-time">
          <span className="muted">{clock(at)}</span> <Ago at={at} />
        </span>
      </div>
      {detail === undefined ? null : (
        <p className="step-detail">
          <bdi>{detail}</bdi>
        </p>
      )}
      {stack === undefined ? null : (
        <details>
          <summary>Stack</summary>
          <pre tabIndex={0}>{stack}</pre>
        </details>
      )}
    </li>
  );
}

const SHOWN = 3;

const ENDS: Readonly<Record<string, string>> = {
  endless: 'it would be tried without end',
  attempts: 'then its attempts are used up',
};

/** The attempts to come. */
function Planned({ id }: { readonly id: string }): ReactElement {
  const { data = [] } = useQuery(forecastQuery(id));
  return (
    <>
      {data
        .filter(({ attempts }) => attempts.length > 0)
        .map(({ id: delivery, handler, attempts, end }) => (
          <li key={delivery} className="planned">
            <div className="step-head">
              <strong>{handler}: the plan</strong>
            </div>
            <ul className="plan">
              {attempts.slice(0, SHOWN).map(({ attempt, earliest }) => (
                <li key={attempt}>
                  attempt {attempt} <Ago at={earliest} />
                </li>
              ))}
              {attempts.length > SHOWN ? (
                <li>
                  … attempt {attempts.at(-1)?.attempt} <Ago at={attempts.at(-1)?.earliest} />
                </li>
              ) : null}
              <li className="muted">{ENDS[end] ?? `then it is a dead letter (${end})`}</li>
            </ul>
          </li>
        ))}
    </>
  );
}
