import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { overviewQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { AuditLines } from '../audit/audit-lines.tsx';
import { BreakerLines } from '../breakers/breaker-lines.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { SegmentLinks } from '../parts/segment-links.tsx';
import { useIsMongodb } from '../shell/session.tsx';
import { FlowChart } from './flow-chart.tsx';
import { HandlerTable } from './handler-table.tsx';
import { NumberRow } from './number-row.tsx';
import { Verdict } from './verdict.tsx';

const RANGES = [
  ['hour', 'Hour'],
  ['day', 'Day'],
  ['week', 'Week'],
] as const;

/** Is anything lost or late, and what needs somebody? */
export function OverviewPage(): ReactElement {
  const [search] = usePlace();
  const range = search['range'] ?? 'hour';
  const isMongodb = useIsMongodb();
  const { data, error, refetch } = useQuery(overviewQuery(range));
  return (
    <>
      <PageHead title="Overview">
        {isMongodb ? null : <SegmentLinks label="Range" name="range" value={range} usual="hour" choices={RANGES} />}
      </PageHead>
      {data === undefined && error !== null ? <ErrorBox error={error} retry={() => void refetch()} /> : null}
      {data === undefined ? error === null ? <Skeleton rows={12} /> : null : <Known overview={data} />}
    </>
  );
}

function Known({ overview }: { readonly overview: Answer<'overview'> }): ReactElement {
  const isMongodb = useIsMongodb();
  return (
    <>
      <Verdict overview={overview} />
      <NumberRow overview={overview} />
      {overview.points.length === 0 ? (
        <p className="muted pad">
          A MongoDB stores no history of these numbers: metrics of the services have it (<code>relayMetrics</code>).
        </p>
      ) : (
        <FlowChart points={overview.points} stepMs={overview.stepMs} />
      )}
      <section className="block">
        <h2>Handlers</h2>
        <HandlerTable handlers={overview.handlers} />
      </section>
      <div className="two-columns">
        {isMongodb ? null : (
          <section className="block">
            <h2>Breakers</h2>
            <BreakerLines breakers={overview.breakers} />
          </section>
        )}
        <section className="block">
          <h2>Done by hand</h2>
          <AuditLines records={overview.audit} />
        </section>
      </div>
    </>
  );
}
