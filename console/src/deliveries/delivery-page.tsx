import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { deliveryQuery, type ShownDelivery } from '../api/delivery-queries.ts';
import { WhySentences } from '../message/why-sentences.tsx';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icon.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { useActs } from '../shell/acts.tsx';
import { useRights } from '../shell/session.tsx';
import { useReplayKey } from '../message/replay-key.ts';
import { Delivering } from './delivering.tsx';
import { cancelDeliveryAct, retryDeliveryAct } from './delivery-acts.ts';
import { DeliveryAttempts } from './delivery-attempts.tsx';
import { DeliveryRequestView } from './delivery-request.tsx';
import { stateOfDelivery } from './delivery-state.ts';
import { HoldBanner } from './hold-banner.tsx';
import { useHolds } from './holds.ts';
import { hasLine, LineLink } from './line-link.tsx';

/** One delivery: what is sent, each attempt with its answer, what can be done. */
export function DeliveryPage(): ReactElement {
  return (
    <Delivering title="Delivery">
      <ShownPage />
    </Delivering>
  );
}

function ShownPage(): ReactElement {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(deliveryQuery(id));
  const holdOf = useHolds();
  useReplayKey();
  if (data === undefined) {
    return (
      <>
        <PageHead title="Delivery" />
        {error === null ? <Skeleton /> : <ErrorBox error={error} retry={() => void refetch()} />}
      </>
    );
  }
  const { method, url } = data.request;
  const hold = holdOf(data);
  return (
    <article className="message-page">
      <Link to="/deliveries" className="back-link">
        <Icon name="back" /> Deliveries
      </Link>
      <PageHead
        title={
          <bdi className="whole-url">
            {method} {url}
          </bdi>
        }
        plain={`${method} ${url}`}
        note={<Facts message={data} />}
      >
        <StateMark state={stateOfDelivery(data)} />
      </PageHead>
      {hold === undefined ? null : <HoldBanner hold={hold} />}
      {data.state === 'waiting' && hold === undefined ? <WhySentences id={id} /> : null}
      <DeliveryActions message={data} />
      <div className="message-columns">
        <DeliveryAttempts message={data} />
        <DeliveryRequestView message={data} />
      </div>
    </article>
  );
}

function Facts({ message }: { readonly message: ShownDelivery }): ReactElement {
  const { messageId, request, createdAt, notBefore, attempts } = message;
  return (
    <span className="facts">
      <span className="mono">{messageId}</span>
      <CopyButton text={messageId} label="Copy the id" />
      <span>
        published <Ago at={createdAt} />
      </span>
      {Date.parse(notBefore) - Date.parse(createdAt) < 1_000 ? null : (
        <span>
          not before <Ago at={notBefore} />
        </span>
      )}
      <span>
        attempt {attempts} of {request.retries + 1}
      </span>
      {hasLine(request) ? (
        <span>
          <LineLink request={request} />
        </span>
      ) : null}
      {request.labels === undefined || request.labels.length === 0 ? null : (
        <span>
          labels <bdi>{request.labels.join(', ')}</bdi>
        </span>
      )}
    </span>
  );
}

function DeliveryActions({ message: { messageId, state } }: { readonly message: ShownDelivery }): ReactElement {
  const { canOperate } = useRights();
  const { ask } = useActs();
  return (
    <div className="action-row">
      {canOperate && state === 'failed' ? (
        <button type="button" className="primary" data-act="replay" onClick={() => ask(retryDeliveryAct(messageId))}>
          <Icon name="replay" /> Retry now
        </button>
      ) : null}
      {canOperate && state === 'waiting' ? (
        <button type="button" onClick={() => ask(cancelDeliveryAct(messageId))}>
          Cancel
        </button>
      ) : null}
      <Link className="button" to="/messages/$id" params={{ id: messageId }}>
        <Icon name="messages" /> Message
      </Link>
      <Link className="button" to="/trace" search={{ id: messageId }}>
        <Icon name="trace" /> Trace
      </Link>
      <CopyButton text={`holdfast why ${messageId}`} label="Copy as a command" word="Copy as command" />
    </div>
  );
}
