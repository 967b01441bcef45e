import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Fragment, type ReactElement, type ReactNode, useState } from 'react';
import { endpointQuery } from '../api/delivery-queries.ts';
import { Delivering } from '../deliveries/delivering.tsx';
import { secondsText } from '../deliveries/delivery-request.tsx';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icon.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { duration } from '../parts/span-of-time.ts';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { changeAct, deleteAct, disableAct, enableAct, recoverAct, rotateAct, testAct } from './endpoint-acts.ts';
import { EndpointMessages } from './endpoint-messages.tsx';
import { SecretsDialog } from './endpoint-secrets.tsx';
import { EndpointState } from './endpoint-state.tsx';
import type { Endpoint } from './endpoints-page.tsx';

/** One endpoint: what it gets, whether it answers, its secrets, what was sent to it. */
export function EndpointPage(): ReactElement {
  return (
    <Delivering title="Endpoint">
      <ShownPage />
    </Delivering>
  );
}

function ShownPage(): ReactElement {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(endpointQuery(id));
  if (data === undefined) {
    return (
      <>
        <PageHead title="Endpoint" />
        {error === null ? <Skeleton /> : <ErrorBox error={error} retry={() => void refetch()} />}
      </>
    );
  }
  return (
    <article className="message-page">
      <Link to="/endpoints" className="back-link">
        <Icon name="back" /> Endpoints
      </Link>
      <PageHead title={<bdi className="whole-url">{data.url}</bdi>} plain={data.url} note={<Facts endpoint={data} />}>
        <EndpointState endpoint={data} />
      </PageHead>
      {data.state === 'disabled' ? <DisabledBanner endpoint={data} /> : null}
      <EndpointActions endpoint={data} />
      <Settings endpoint={data} />
      <EndpointMessages id={id} />
    </article>
  );
}

function Facts({ endpoint: { id, createdAt, failingSince, state } }: { readonly endpoint: Endpoint }): ReactElement {
  return (
    <span className="facts">
      <span className="mono">{id}</span>
      <CopyButton text={id} label="Copy the id" />
      <span>
        registered <Ago at={createdAt} />
      </span>
      {failingSince === undefined || state === 'disabled' ? null : (
        <span className="bad-text">
          nothing but failures since <Ago at={failingSince} />
        </span>
      )}
    </span>
  );
}

function DisabledBanner({ endpoint }: { readonly endpoint: Endpoint }): ReactElement {
  const { disabledAt } = endpoint;
  return (
    <p className="banner parked">
      <EndpointState endpoint={endpoint} /> <Ago at={disabledAt} />. Events are not for it, and what waits for it waits.
    </p>
  );
}

function EndpointActions({ endpoint }: { readonly endpoint: Endpoint }): ReactElement | null {
  const { canOperate, canAdminister } = useRights();
  const { ask } = useActs();
  const navigate = useNavigate();
  const [isRevealed, setRevealed] = useState(false);
  if (!canOperate) return null;
  const isOn = endpoint.state === 'enabled';
  const leave = (): Promise<void> => navigate({ to: '/endpoints' });
  return (
    <div className="action-row">
      <button
        type="button"
        className={isOn ? '' : 'primary'}
        onClick={() => ask(isOn ? disableAct(endpoint) : enableAct(endpoint))}
      >
        <Icon name={isOn ? 'pause' : 'play'} /> {isOn ? 'Disable' : 'Enable'}
      </button>
      {isOn ? (
        <button type="button" onClick={() => ask(testAct(endpoint))}>
          <Icon name="deliveries" /> Send a test
        </button>
      ) : null}
      <button type="button" onClick={() => ask(recoverAct(endpoint))}>
        <Icon name="replay" /> Recover since …
      </button>
      {canAdminister ? (
        <>
          <button type="button" onClick={() => ask(changeAct(endpoint))}>
            <Icon name="edit" /> Change
          </button>
          <button type="button" onClick={() => setRevealed(true)}>
            <Icon name="keys" /> Show the secret
          </button>
          <button type="button" onClick={() => ask(rotateAct(endpoint, () => setRevealed(true)))}>
            Rotate the secret …
          </button>
          <button type="button" onClick={() => ask(deleteAct(endpoint, leave))}>
            <Icon name="discard" /> Delete
          </button>
        </>
      ) : null}
      {isRevealed ? <SecretsDialog id={endpoint.id} close={() => setRevealed(false)} /> : null}
    </div>
  );
}

function Settings({ endpoint }: { readonly endpoint: Endpoint }): ReactElement {
  const { description, eventTypes, headers, retrySeconds, timeoutMs, ratePerSecond } = endpoint;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Description', description && <bdi>{description}</bdi>],
    ['Events', eventTypes.length === 0 ? 'all' : <bdi className="mono">{eventTypes.join(', ')}</bdi>],
    [
      'Headers',
      Object.keys(headers).length === 0 ? undefined : (
        <bdi className="mono">
          {Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', ')}
        </bdi>
      ),
    ],
    ['Retries', retrySeconds.length === 0 ? 'none' : `${retrySeconds.length}, after ${secondsText(retrySeconds)}`],
    ['Timeout', timeoutMs === undefined ? undefined : duration(timeoutMs)],
    ['Rate', ratePerSecond === undefined ? undefined : `${ratePerSecond} a second`],
  ];
  return (
    <section className="block" aria-label="Settings">
      <h2>Settings</h2>
      <dl className="fact-list pad">
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
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
