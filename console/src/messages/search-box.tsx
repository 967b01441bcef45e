import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactElement, useEffect, useState } from 'react';
import { handlersQuery } from '../api/queries.ts';
import { Icon } from '../parts/icon.tsx';
import { cleaned, usePlace } from '../parts/place.ts';
import { MESSAGE_TABS } from '../../../src/operator/message-list.ts';
import { completions, problemOf, QUALIFIERS, searchOf, textOf } from './qualifiers.ts';

function useKnown(): Readonly<Record<string, readonly string[]>> {
  const { data = [] } = useQuery(handlersQuery);
  return {
    status: MESSAGE_TABS,
    type: [...new Set(data.flatMap(({ types }) => types))].toSorted(),
    handler: data.map(({ service, handler }) => `${service}/${handler}`).toSorted(),
    service: [...new Set(data.map(({ service }) => service))].toSorted(),
    since: ['15m', '1h', '2h', '1d', '7d'],
    until: ['15m', '1h', '1d'],
  };
}

interface SearchState {
  /** The search of the page, as it is written. */
  readonly meant: string;
  readonly problem: string | undefined;
  readonly setProblem: (problem: string | undefined) => void;
  /** Searches, unless there is something wrong with it. */
  readonly look: (wanted: string) => void;
}

function useSearch(): SearchState {
  const [search] = usePlace();
  const navigate = useNavigate();
  const [problem, setProblem] = useState<string>();
  const look = (wanted: string): void => {
    const found = problemOf(wanted);
    setProblem(found);
    if (found !== undefined) return;
    void navigate({ to: '/messages', search: cleaned({ status: search['status'], ...searchOf(wanted) }) });
  };
  return { meant: textOf(search), problem, setProblem, look };
}

/** The search with qualifiers, completed while it is typed. What it means stands in the address. */
export function SearchBox(): ReactElement {
  const { meant, problem, setProblem, look } = useSearch();
  const [text, setText] = useState(meant);
  const [at, setAt] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const offered = completions(text, useKnown());
  useEffect(() => setText(meant), [meant]);
  const submit = (wanted: string): void => {
    setOpen(false);
    look(wanted);
  };
  const take = (one: string): void => {
    setText(`${text.replace(/\S*$/, '')}${one}${one.endsWith(':') || one.endsWith('.') ? '' : ' '}`);
    setAt(-1);
  };
  const onKey = (event: KeyboardEvent): void => {
    const one = offered[at];
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, offered.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, -1));
    else if (event.key === 'Enter' && one !== undefined) take(one);
    else if (event.key === 'Enter') submit(text);
    else if (event.key === 'Tab' && isOpen && offered.length > 0 && text !== '') take(one ?? offered[0] ?? '');
    else if (event.key === 'Escape') setOpen(false);
    else return;
    event.preventDefault();
  };
  return (
    <div className="search-box">
      <Icon name="search" />
      <input
        data-search
        role="combobox"
        aria-label="Search messages"
        aria-expanded={isOpen}
        aria-controls="search-offers"
        aria-activedescendant={at >= 0 ? `offer-${at}` : undefined}
        placeholder="type:order.* handler:email error:ECONN payload.customer.id:42 since:2h"
        spellCheck={false}
        autoComplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby="search-problem"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.target.value);
          setProblem(undefined);
          setAt(-1);
          setOpen(true);
        }}
      />
      {meant === '' ? null : <ClearButton clear={() => submit('')} />}
      <Offers offered={isOpen ? offered : []} at={at} take={take} />
      <p id="search-problem" className="search-problem" role="status">
        {problem}
      </p>
    </div>
  );
}

function ClearButton({ clear }: { readonly clear: () => void }): ReactElement {
  return (
    <button type="button" className="quiet square" aria-label="Clear the search" onClick={clear}>
      <Icon name="close" />
    </button>
  );
}

function Offers({
  offered,
  at,
  take,
}: {
  readonly offered: readonly string[];
  readonly at: number;
  readonly take: (one: string) => void;
}): ReactElement {
  return (
    <ul id="search-offers" role="listbox" aria-label="Completions" className="offers" hidden={offered.length === 0}>
      {offered.map((one, index) => (
        <li
          key={one}
          id={`offer-${index}`}
          role="option"
          aria-selected={index === at}
          // Before the box loses the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            take(one);
          }}
        >
          <code>{one}</code>
          <span className="muted">{QUALIFIERS.find(({ name }) => one === `${name}:` || one === name)?.summary}</span>
        </li>
      ))}
    </ul>
  );
}
