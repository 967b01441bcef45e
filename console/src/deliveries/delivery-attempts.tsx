import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { deliveryLogQuery, type LogLine, type ShownDelivery } from '../api/delivery-queries.ts';
import { Ago } from '../parts/ago.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { clock, duration } from '../parts/span-of-time.ts';
import { StateMark, toneOf } from '../parts/state-mark.tsx';
import { BodyView } from './body-view.tsx';
import { HeaderList } from './header-list.tsx';

/** How `StateMark` knows the lines that end an attempt; the others are told by these. */
const ENDS: Readonly<Record<string, string>> = {
  DELIVERED: 'delivered',
  RETRY: 'retrying',
  FAILED: 'failed',
  CANCELED: 'cancelled',
};

/** Each attempt with its answer, the latest first. */
export function DeliveryAttempts({ message }: { readonly message: ShownDelivery }): ReactElement {
  const { messageId, state, nextAt, createdAt, attempts } = message;
  const { data, error, refetch } = useQuery(deliveryLogQuery(messageId));
  return (
    <section className="block" aria-label="Attempts">
      <h2>Attempts</h2>
      {data === undefined ? (
        error === null ? (
          <Skeleton rows={3} />
        ) : (
          <ErrorBox error={error} retry={() => void refetch()} />
        )
      ) : (
        <ol className="timeline">
          {state === 'waiting' && nextAt !== undefined ? (
            <Step tone="planned" title={attempts === 0 ? 'First attempt' : 'Next attempt'} at={nextAt} />
          ) : null}
          {data
            .filter((line) => ENDS[line.state] !== undefined)
            .map((line) => (
              <EndedStep key={`${line.at} ${line.attempt}`} line={line} />
            ))}
          <Step tone="tone-pending" title="Published" at={createdAt} />
        </ol>
      )}
    </section>
  );
}

function Step({
  tone,
  title,
  at,
}: {
  readonly tone: string;
  readonly title: string;
  readonly at: string;
}): ReactElement {
  return (
    <li className={tone}>
      <div className="step-head">
        <strong>{title}</strong>
        <span className="step-time">
          <span className="muted">{clock(at)}</span> <Ago at={at} />
        </span>
      </div>
    </li>
  );
}

function EndedStep({ line }: { readonly line: LogLine }): ReactElement {
  const { state, at, attempt } = line;
  if (attempt === undefined) return <Step tone="tone-gone" title="Cancelled" at={at} />;
  return <AttemptStep line={line} state={ENDS[state] ?? ''} />;
}

function AttemptStep({ line, state }: { readonly line: LogLine; readonly state: string }): ReactElement {
  const { at, attempt, durationMs, error, nextAt, responseStatus, responseHeaders = {} } = line;
  const hasHeaders = Object.keys(responseHeaders).length > 0;
  return (
    <li className={`tone-${toneOf(state)}`}>
      <div className="step-head">
        <strong>
          Attempt {attempt}{' '}
          <StateMark state={state} word={responseStatus === undefined ? 'no answer' : String(responseStatus)} />{' '}
          <span className="muted">in {duration(durationMs)}</span>
        </strong>
        <span className="step-time">
          <span className="muted">{clock(at)}</span> <Ago at={at} />
        </span>
      </div>
      {error === undefined ? null : (
        <p className="step-detail bad-text">
          <bdi>{error}</bdi>
        </p>
      )}
      {nextAt === undefined ? null : (
        <p className="step-detail muted">
          tried again <Ago at={nextAt} />
        </p>
      )}
      {hasHeaders ? (
        <details>
          <summary>Response headers</summary>
          <HeaderList headers={responseHeaders} />
        </details>
      ) : null}
      <BodyView label="Response body" text={line.responseBody} base64={line.responseBodyBase64} />
    </li>
  );
}
