import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { shortId } from '../parts/figures.ts';

export type AuditRecord = Answer<'audit'>['items'][number];

/** What was acted on: a message, a handler, or what the details name. */
export function AuditObject({ record }: { readonly record: AuditRecord }): ReactElement {
  const { messageId, service, handler, details } = record;
  const name = handler === undefined ? undefined : `${service ?? ''}/${handler}`;
  const bulk = textOf(details['bulk'] ?? details['bulkId']);
  const group = textOf(details['group'] ?? details['groupId']);
  const named = NAMED.map((field) => textOf(details[field])).find((one) => one !== undefined);
  return (
    <>
      {messageId === undefined ? null : (
        <Link to="/messages/$id" params={{ id: messageId }} className="mono">
          {shortId(messageId)}
        </Link>
      )}{' '}
      {/* Of a message it is among the details; here the message matters. */}
      {bulk === undefined || messageId !== undefined ? null : (
        <Link to="/bulk/$id" params={{ id: bulk }} className="mono">
          {shortId(bulk)}
        </Link>
      )}{' '}
      {group === undefined ? null : (
        <Link to="/dead-letters/groups/$id" params={{ id: group }} className="mono">
          {shortId(group)}
        </Link>
      )}{' '}
      {name === undefined ? null : <span>{name}</span>} {named === undefined ? null : <bdi>{named}</bdi>}
    </>
  );
}

/** What details of the delivery server name. */
const NAMED = ['url', 'destination', 'endpoint', 'queue', 'key', 'scheduleId'] as const;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** What was changed by hand, in short. */
export function AuditLines({ records }: { readonly records: readonly AuditRecord[] }): ReactElement {
  if (records.length === 0) {
    return <p className="muted pad">Nothing yet. Every replay, discard, pause … stands here with who and why.</p>;
  }
  return (
    <ul className="lines">
      {records.map((record) => (
        <li key={record.id}>
          <span className="line-main">
            <bdi>{record.actor}</bdi> <strong>{record.verb}</strong> <AuditObject record={record} />
            {record.reason === undefined ? null : (
              <span className="muted">
                {' '}
                “<bdi>{record.reason}</bdi>”
              </span>
            )}
          </span>
          <Ago at={record.at} />
        </li>
      ))}
    </ul>
  );
}
