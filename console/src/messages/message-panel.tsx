import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useEffect } from 'react';
import { messageQuery } from '../api/queries.ts';
import { MessageActions } from '../message/message-actions.tsx';
import { StateDrawing } from '../message/state-drawing.tsx';
import { WhySentences } from '../message/why-sentences.tsx';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { shortId } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PayloadTree } from '../parts/payload-tree.tsx';
import { isTyping } from '../parts/row-keys.ts';

/** A message beside the list it was opened from. */
export function MessagePanel({ id, close }: { readonly id: string; readonly close: () => void }): ReactElement {
  const { data, error } = useQuery(messageQuery(id));
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && !isTyping(event)) close();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [close]);
  return (
    <aside className="panel" aria-label="Message">
      <header>
        <h2>
          <bdi>{data?.type ?? shortId(id)}</bdi>
        </h2>
        <Link to="/messages/$id" params={{ id }} className="button quiet" title="Open its page">
          <Icon name="open" /> Open
        </Link>
        <button type="button" className="quiet square" aria-label="Close the panel" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {error === null ? null : <ErrorBox error={error} />}
      {data === undefined ? (
        error === null ? (
          <Skeleton />
        ) : null
      ) : (
        <div className="panel-body">
          <p className="facts">
            <span className="mono">{shortId(data.id)}</span>
            <CopyButton text={data.id} label="Copy the id" />
            {data.key === undefined ? null : (
              <span>
                key <bdi className="mono">{data.key}</bdi>
              </span>
            )}
            <span>
              sent by {data.source} <Ago at={data.createdAt} />
            </span>
          </p>
          <StateDrawing message={data} />
          <WhySentences id={id} />
          <MessageActions message={data} />
          <PayloadTree value={data.payload} label="Payload" />
        </div>
      )}
    </aside>
  );
}
