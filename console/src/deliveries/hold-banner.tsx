import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Ago } from '../parts/ago.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import type { Hold } from './holds.ts';

/** Why a delivery is not tried though it could be, and where that is changed. */
export function HoldBanner({ hold: { kind, name, probeAt } }: { readonly hold: Hold }): ReactElement {
  if (kind === 'breaker') {
    return (
      <p className="banner parked">
        <StateMark state="breaker-open" word="Held" /> The breaker of{' '}
        <Link to="/destinations" search={{ destination: name }}>
          {name}
        </Link>{' '}
        is open, and no attempt is spent meanwhile:{' '}
        {probeAt === undefined ? (
          'somebody holds it open.'
        ) : (
          <>
            one message is tried <Ago at={probeAt} />.
          </>
        )}
      </p>
    );
  }
  if (kind === 'endpoint') {
    return (
      <p className="banner parked">
        <StateMark state="paused" word="Held" /> Its{' '}
        <Link to="/endpoints/$id" params={{ id: name }}>
          endpoint
        </Link>{' '}
        is disabled.
      </p>
    );
  }
  return (
    <p className="banner parked">
      <StateMark state="paused" word="Held" /> {kind === 'queue' ? <Link to="/queues">The queue {name}</Link> : null}
      {kind === 'flow' ? (
        <Link to="/queues" search={{ view: 'flow' }}>
          The flow-control key {name}
        </Link>
      ) : null}{' '}
      is paused.
    </p>
  );
}

const WORDS = { breaker: 'breaker open', queue: 'queue paused', flow: 'key paused', endpoint: 'disabled' } as const;

/** The same in two words. */
export function HoldWords({ hold: { kind, probeAt } }: { readonly hold: Hold }): ReactElement {
  if (probeAt === undefined) return <span className="muted">{WORDS[kind]}</span>;
  return (
    <>
      <span className="muted">probe</span> <Ago at={probeAt} />
    </>
  );
}
