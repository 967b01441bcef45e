import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { messageQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icon.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { PayloadTree } from '../parts/payload-tree.tsx';
import { FailureHistory } from './failure-history.tsx';
import { MessageActions } from './message-actions.tsx';
import { Related } from './related.tsx';
import { useReplayKey } from './replay-key.ts';
import { StateDrawing } from './state-drawing.tsx';
import { Timeline } from './timeline.tsx';
import { WhySentences } from './why-sentences.tsx';

export type MessageDetail = Extract<Answer<'show'>, { kind: 'found' }>['message'];

/** One message: where it stands, why, what happened, what it holds, what can be done. */
export function MessagePage(): ReactElement {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(messageQuery(id));
  useReplayKey();
  if (data === undefined) {
    return (
      <>
        <PageHead title="Message" />
        {error === null ? <Skeleton /> : <ErrorBox error={error} retry={() => void refetch()} />}
      </>
    );
  }
  return (
    <article className="message-page">
      <Link to="/messages" className="back-link">
        <Icon name="back" /> Messages
      </Link>
      <PageHead title={<bdi>{data.type}</bdi>} plain={data.type} note={<Facts message={data} />}>
        <button type="button" className="quiet print-button" onClick={() => print()}>
          <Icon name="print" /> Print
        </button>
      </PageHead>
      <StateDrawing message={data} />
      <WhySentences id={id} />
      <MessageActions message={data} />
      <div className="message-columns">
        <Timeline message={data} />
        <div>
          <PayloadTree value={data.payload} label="Payload" />
          {Object.keys(data.headers).length === 0 ? null : <PayloadTree value={data.headers} label="Headers" />}
          <FailureHistory message={data} />
          <Related message={data} />
        </div>
      </div>
    </article>
  );
}

function Facts({ message }: { readonly message: MessageDetail }): ReactElement {
  const { id, key, source, target, createdAt, generation, version, idempotencyKey } = message;
  return (
    <span className="facts">
      <span className="mono">{id}</span>
      <CopyButton text={id} label="Copy the id" />
      {key === undefined ? null : (
        <span>
          key{' '}
          <Link to="/messages" search={{ key }} className="mono">
            <bdi>{key}</bdi>
          </Link>
        </span>
      )}
      <span>
        from {source}
        {target === undefined ? '' : ` to ${target}`} <Ago at={createdAt} />
      </span>
      {generation === undefined ? null : <span>generation {generation}</span>}
      {version > 0 ? <span>version {version}</span> : null}
      {idempotencyKey === id ? null : (
        <span>
          idempotency key <bdi className="mono">{idempotencyKey}</bdi>
        </span>
      )}
    </span>
  );
}
