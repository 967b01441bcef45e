import { Link } from '@tanstack/react-router';
import { Fragment, type ReactElement, type ReactNode } from 'react';
import type { ShownDelivery } from '../api/delivery-queries.ts';
import { duration } from '../parts/span-of-time.ts';
import { BodyView } from './body-view.tsx';
import { destinationOf } from './delivery-state.ts';
import { HeaderList } from './header-list.tsx';

/** What is sent, and by which rules. What is hidden is shown as hidden. */
export function DeliveryRequestView({ message }: { readonly message: ShownDelivery }): ReactElement {
  const { request } = message;
  const { headers, hidden, body, bodyBase64 } = request;
  return (
    <div>
      <section className="block" aria-label="Request">
        <h2>Request</h2>
        <div className="pad">
          {Object.keys(headers).length === 0 ? (
            <p className="muted">No headers besides those the server adds.</p>
          ) : (
            <HeaderList headers={headers} />
          )}
          {body === undefined && bodyBase64 === undefined ? <p className="muted">No body.</p> : null}
          <BodyView label="Body" text={body} base64={bodyBase64} />
          {hidden === undefined ? null : (
            <p className="muted">Whoever published it hides parts of it here; it is delivered whole.</p>
          )}
        </div>
      </section>
      <Rules message={message} />
    </div>
  );
}

function Rules({ message: { request, flow } }: { readonly message: ShownDelivery }): ReactElement {
  const { retryDelay, retrySeconds, timeoutMs, callback, failureCallback, signedBy, eventType, callerIp } = request;
  const destination = destinationOf(request.url);
  const seconds = retrySeconds === undefined ? '12 s, 2 min 28 s, 30 min 8 s, …' : secondsText(retrySeconds);
  const waits = retryDelay === undefined ? seconds : <code>{retryDelay} ms</code>;
  const facts: readonly (readonly [string, ReactNode])[] = [
    [
      'Destination',
      <Link key="to" to="/destinations" search={{ destination }}>
        {destination}
      </Link>,
    ],
    ['Retries', request.retries],
    ['Waits', request.retries === 0 ? undefined : waits],
    ['Timeout', timeoutMs === undefined ? undefined : duration(timeoutMs)],
    ['Signed', signedBy === 'endpoint' ? 'by the endpoint’s secrets' : 'by the server’s keys'],
    ['Event', eventType],
    ['Parallelism', flow?.parallelism],
    ['Rate', flow?.rate === undefined ? undefined : `${flow.rate} every ${duration(flow.periodMs ?? 1_000)}`],
    ['Callback', callback && <bdi>{callback.url}</bdi>],
    ['Failure callback', failureCallback && <bdi>{failureCallback.url}</bdi>],
    ['Published from', callerIp],
  ];
  return (
    <section className="block" aria-label="Rules">
      <h2>Rules</h2>
      <dl className="fact-list pad">
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
      </dl>
    </section>
  );
}

/** Waits in seconds, as people read them. */
export function secondsText(seconds: readonly number[]): string {
  return seconds.map((one) => duration(one * 1_000).replace('.0', '')).join(', ');
}
