import type { ReactElement } from 'react';
import { StateMark } from '../parts/state-mark.tsx';
import type { Endpoint } from './endpoints-page.tsx';

const WHY = {
  operator: 'by hand',
  gone: 'it answered 410',
  failing: 'it did nothing but fail',
} as const;

/** Enabled, or disabled and why. */
export function EndpointState({
  endpoint: { state, disabledBecause },
}: {
  readonly endpoint: Pick<Endpoint, 'state' | 'disabledBecause'>;
}): ReactElement {
  if (state === 'enabled') return <StateMark state="on" word="Enabled" />;
  return (
    <>
      <StateMark state={disabledBecause === 'operator' ? 'paused' : 'failed'} word="Disabled" />{' '}
      {disabledBecause === undefined ? null : <span className="muted">{WHY[disabledBecause]}</span>}
    </>
  );
}
