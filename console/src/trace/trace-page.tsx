import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useEffect, useState } from 'react';
import { traceQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { CommandLine } from '../parts/copy-button.tsx';
import { counted } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Empty, ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { shellWord } from '../message/message-acts.ts';
import { Waterfall } from './waterfall.tsx';

/** One box for any id, and everything that one action did. */
export function TracePage(): ReactElement {
  const [search, change] = usePlace();
  const id = search['id'] ?? '';
  const [text, setText] = useState(id);
  useEffect(() => setText(id), [id]);
  const { data, error, isFetching } = useQuery(traceQuery(id));
  return (
    <>
      <PageHead title="Trace" note="Everything one action did: request, outbox, broker, handlers, outgoing calls." />
      <form
        className="search-box"
        onSubmit={(event) => {
          event.preventDefault();
          change({ id: text.trim() });
        }}
      >
        <Icon name="search" />
        <input
          data-search
          aria-label="Any id"
          placeholder="The id of a request, event, dead letter, command, run, an idempotency key, a source id, a user"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </form>
      {id === '' ? <NoId /> : null}
      {error === null ? null : <ErrorBox error={error} />}
      {isFetching && data === undefined ? <Skeleton /> : null}
      {data === undefined ? null : <Told traced={data} id={id} />}
    </>
  );
}

function NoId(): ReactElement {
  return (
    <Empty title="Give any id" command="holdfast trace <id>">
      Of a request, an event, a dead letter, a command or its run, an idempotency key, a broker’s source id, or a user.
      The beginning of an event’s id will do.
    </Empty>
  );
}

function Told({ traced, id }: { readonly traced: Answer<'trace'>; readonly id: string }): ReactElement {
  switch (traced.kind) {
    case 'trace':
      return (
        <>
          <p className="muted">
            Found as {traced.as.join(', ')}; {counted(traced.entries.length, 'step')}
            {traced.isCut ? ', and more' : ''}.
          </p>
          <Waterfall entries={traced.entries} />
          <CommandLine command={`holdfast trace ${shellWord(id)}`} />
        </>
      );
    case 'ambiguous':
      return (
        <section className="block">
          <h2>Several begin so</h2>
          <ul className="lines">
            {traced.candidates.map((one) => (
              <li key={one.id}>
                <Link to="/trace" search={{ id: one.id }} className="mono">
                  {one.id}
                </Link>
                <span>
                  {one.type} <Ago at={one.createdAt} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      );
    case 'bad-id':
      return <Empty title="That is no id">{traced.problem}</Empty>;
    case 'not-found':
      return <Empty title="Nothing is known by that id">It was never seen, or is no longer kept.</Empty>;
    default:
      return traced satisfies never;
  }
}
