import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { systemQuery } from '../api/queries.ts';
import type { Answer } from '../api/wire.ts';
import { Ago } from '../parts/ago.tsx';
import { bytes, count, counted } from '../parts/figures.ts';
import { Empty, ErrorBox, Skeleton } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { type Column, Rows } from '../parts/rows.tsx';
import { duration } from '../parts/span-of-time.ts';
import { StateMark } from '../parts/state-mark.tsx';
import { useSession } from '../shell/session.tsx';
import { WorkerTable } from './worker-table.tsx';

type System = Answer<'system'>;

/** The machinery: processes, tables, and what is wrong with them. */
export function SystemPage(): ReactElement {
  const { data, error, refetch } = useQuery(systemQuery);
  const session = useSession();
  // The operator of an application does not know the release; the server that shows this page does.
  const version = data?.version === 'unknown' ? session.version : data?.version;
  return (
    <>
      <PageHead
        title="System"
        note={
          data === undefined
            ? undefined
            : `Holdfast ${version} · ${data.schema.expected === 0 ? `database “${data.schema.name}”` : `schema “${data.schema.name}” version ${data.schema.version}`} · ${data.server}`
        }
      />
      {data === undefined ? (
        error === null ? (
          <Skeleton />
        ) : (
          <ErrorBox error={error} retry={() => void refetch()} />
        )
      ) : (
        <Known system={data} />
      )}
    </>
  );
}

function Known({ system }: { readonly system: System }): ReactElement {
  const { workers, tables, findings, historySince, schema } = system;
  return (
    <>
      {schema.version === schema.expected ? null : (
        <p className="banner bad">
          <StateMark state="problem" /> This release expects version {schema.expected} of the schema: run{' '}
          <code>holdfast migrate</code>, or install the release that fits.
        </p>
      )}
      <Findings findings={findings} />
      <section className="block">
        <h2>Workers</h2>
        {workers.length === 0 ? (
          <Empty title="No live worker" command="holdfast relay --config ./service.config.js">
            Nothing runs until a service starts with its handlers.
          </Empty>
        ) : (
          <WorkerTable workers={workers} />
        )}
      </section>
      <Snapshot holder={system.oldestSnapshot} />
      <section className="block">
        <h2>Tables</h2>
        <Rows label="Tables" columns={TABLES} rows={tables} idOf={({ table }) => table} />
        <p className="muted pad">
          Rows are estimates of the database.
          {historySince === undefined ? null : (
            <>
              {' '}
              The history of finished messages goes back to <Ago at={historySince} />.
            </>
          )}
        </p>
      </section>
    </>
  );
}

/** What is wrong, with what to do; what is well is counted, and folded away. */
function Findings({ findings }: { readonly findings: System['findings'] }): ReactElement {
  const { problem = [], warning = [], ok = [] } = Object.groupBy(findings, ({ level }) => level);
  return (
    <section className="block">
      <h2>Findings</h2>
      <FindingLines findings={[...problem, ...warning]} />
      <details className="folded" open={problem.length + warning.length === 0}>
        <summary>
          <StateMark state="ok" word={`${counted(ok.length, 'check')} well`} />
        </summary>
        <FindingLines findings={ok} />
      </details>
    </section>
  );
}

function FindingLines({ findings }: { readonly findings: System['findings'] }): ReactElement | null {
  if (findings.length === 0) return null;
  return (
    <ul className="lines">
      {findings.map(({ level, title, advice }) => (
        <li key={title} className="tall">
          <span className="line-main">
            <StateMark state={level} /> {title}
            {advice === undefined ? null : <span className="advice">{advice}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

const TABLES: readonly Column<System['tables'][number]>[] = [
  { head: 'Table', isWide: true, card: 'title', cell: ({ table }) => <span className="mono">{table}</span> },
  { head: 'Rows', isFigure: true, cell: ({ rows }) => `≈ ${count(rows)}` },
  {
    head: 'Dead rows',
    isFigure: true,
    cell: ({ rows, deadRows }) => (
      <span className={deadRows > 10_000 && deadRows > rows ? 'bad-text' : ''}>{count(deadRows)}</span>
    ),
  },
  { head: 'Size', isFigure: true, isExtra: true, cell: (row) => bytes(row.bytes) },
  { head: 'Indexes', isFigure: true, isExtra: true, cell: ({ indexBytes }) => bytes(indexBytes) },
  { head: 'Vacuumed', isFigure: true, cell: ({ vacuumedAt }) => <Ago at={vacuumedAt} /> },
];

function Snapshot({ holder }: { readonly holder: System['oldestSnapshot'] }): ReactElement {
  return (
    <section className="block">
      <h2>Oldest snapshot</h2>
      {holder === undefined ? (
        <p className="muted pad">Nobody keeps the database from cleaning up.</p>
      ) : (
        <dl className="facts-list">
          <dt>Held by</dt>
          <dd>
            {holder.what} <bdi className="mono">{holder.id}</bdi>
          </dd>
          <dt>Who</dt>
          <dd>
            <bdi>{[holder.user, holder.application, holder.state].filter(Boolean).join(' · ') || '–'}</bdi>
          </dd>
          <dt>For</dt>
          <dd>{duration(holder.ageMs)}</dd>
        </dl>
      )}
    </section>
  );
}
