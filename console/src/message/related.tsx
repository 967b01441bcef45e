import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { ask } from '../api/client.ts';
import type { Answer } from '../api/wire.ts';
import { useIsMongodb } from '../shell/session.tsx';
import type { MessageDetail } from './message-page.tsx';

/** The groups that this message's dead letters are in. */
function useGroups({ id, type, key, status }: MessageDetail): readonly string[] {
  const { data } = useQuery({
    queryKey: ['related', id],
    queryFn: ({ signal }) => ask<Answer<'deadLetters'>>('dead-letters', { type, key, search: id, limit: 10 }, signal),
    enabled: status === 'failed',
  });
  const own = (data?.items ?? []).filter(({ messageId }) => messageId === id);
  return [...new Set(own.flatMap(({ group }) => (group === undefined ? [] : [group])))];
}

/** Other things of the same key, cause and action. */
export function Related({ message }: { readonly message: MessageDetail }): ReactElement {
  const { key, type, correlationId, causationId, id } = message;
  const groups = useGroups(message);
  const isMongodb = useIsMongodb();
  return (
    <section className="block" aria-label="Related">
      <h2>Related</h2>
      <ul className="lines">
        {key === undefined ? null : (
          <li>
            <Link to="/messages" search={{ key }}>
              Same key: <bdi className="mono">{key}</bdi>
            </Link>
          </li>
        )}
        {groups.map((group) => (
          <li key={group}>
            <Link to="/dead-letters/groups/$id" params={{ id: group }}>
              Same cause: <span className="mono">{group}</span>
            </Link>
          </li>
        ))}
        {isMongodb ? null : (
          <li>
            <Link to="/trace" search={{ id: correlationId ?? id }}>
              Same action: <span className="mono">{correlationId ?? id}</span>
            </Link>
          </li>
        )}
        {causationId === undefined || isMongodb ? null : (
          <li>
            <Link to="/trace" search={{ id: causationId }}>
              Caused by: <span className="mono">{causationId}</span>
            </Link>
          </li>
        )}
        <li>
          <Link to="/messages" search={{ type }}>
            Same type: {type}
          </Link>
        </li>
      </ul>
    </section>
  );
}
