import type { ReactElement } from 'react';
import { count, counted, errorLine, shortId } from '../parts/figures.ts';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import type { Planned } from './bulk-sheet.tsx';

function canaryText(first: number, total: number): string {
  if (first === 0 || first === total) return '';
  return first === 1
    ? ' The first goes ahead; the rest waits for it.'
    : ` The first ${count(first)} go ahead; the rest waits for them.`;
}

/** What would happen: how many, at which handlers, and the first of them. */
export function BulkPreview({ planned }: { readonly planned: Planned }): ReactElement {
  const { bulk, sample, forecast } = planned;
  const { total, perSecond, isCut, canary } = bulk;
  return (
    <div className="preview">
      <p>
        <strong>{counted(total, 'dead letter')}</strong> {total === 1 ? 'is' : 'are'} selected, and only{' '}
        {total === 1 ? 'it' : 'they'}.{isCut ? ' More would fit than one operation takes.' : ''}
        {canaryText(Math.min(canary, total), total)}
        {perSecond === undefined || total === 0
          ? ''
          : ` At ${perSecond} a second it takes about ${duration((total / perSecond) * 1_000)}.`}
      </p>
      {bulk.verb !== 'discard' && forecast.length > 0 ? (
        <>
          <h3>What it would meet</h3>
          <ul className="lines">
            {forecast.map((one) => (
              <ForecastLine key={`${one.service}/${one.handler}`} one={one} />
            ))}
          </ul>
        </>
      ) : null}
      {sample.length === 0 ? null : (
        <>
          <h3>{sample.length === 1 ? 'The first' : `The first ${sample.length}`}</h3>
          <ul className="lines">
            {sample.map(({ id, type, key, error }) => (
              <li key={id}>
                <span className="line-main">
                  {type} <bdi className="mono">{key ?? shortId(id)}</bdi>{' '}
                  <bdi className="muted">{error === undefined ? '' : errorLine(error)}</bdi>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function ForecastLine({ one }: { readonly one: Planned['forecast'][number] }): ReactElement {
  return (
    <li className="tall">
      <span className="line-main">
        <strong>
          {one.service}/{one.handler}
        </strong>{' '}
        {count(one.count)} in {counted(one.keys, 'key')}
        {one.behind > 0 ? `; ${count(one.behind)} that wait behind them go on` : ''}
        <span className="block-text">
          {one.workers === 0 ? <StateMark state="problem" word="No worker serves it: nothing will run" /> : null}
          {one.isPaused ? <StateMark state="paused" word="The handler is paused: they wait" /> : null}
          {one.isBreakerOpen ? (
            <StateMark state="warning" word="Its breaker is open: they wait until it answers" />
          ) : null}
          {one.workers > 0 && !one.isPaused && !one.isBreakerOpen ? (
            <StateMark state="ok" word={`${counted(one.workers, 'worker')} ready`} />
          ) : null}
        </span>
      </span>
    </li>
  );
}
