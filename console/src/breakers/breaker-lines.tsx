import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { counted } from '../parts/figures.ts';
import { StateMark } from '../parts/state-mark.tsx';

export type Breaker = Answer<'breakers'>['items'][number];

/** The word that `StateMark` knows a breaker's state by: of groups "open" means another thing. */
export function breakerMark(state: Breaker['state']): string {
  return state === 'open' ? 'breaker-open' : state;
}

/** Breakers that are not closed, in short. */
export function BreakerLines({ breakers }: { readonly breakers: readonly Breaker[] }): ReactElement {
  if (breakers.length === 0) {
    return (
      <p className="muted pad">
        All closed: everything the handlers depend on answers. <Link to="/breakers">All breakers</Link>
      </p>
    );
  }
  return (
    <ul className="lines">
      {breakers.map(({ service, name, state, waiting, probeAt }) => (
        <li key={`${service}/${name}`}>
          <span className="line-main">
            <StateMark state={breakerMark(state)} />{' '}
            <Link to="/breakers" search={{ breaker: `${service}/${name}` }}>
              {service}/{name}
            </Link>{' '}
            <span className="muted">
              {counted(waiting, 'message')} wait{waiting === 1 ? 's' : ''}
            </span>
          </span>
          {probeAt === undefined ? (
            <span className="muted">held by hand</span>
          ) : (
            <span>
              probe <Ago at={probeAt} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
