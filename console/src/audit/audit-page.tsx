import type { ReactElement } from 'react';
import { AUDIT_VERBS } from '../../../src/operator/operator-records.ts';
import { Ago } from '../parts/ago.tsx';
import { FilterField, FilterSelect } from '../parts/filter-fields.tsx';
import { ListFrame, useListed } from '../parts/listed.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { usePlace } from '../parts/place.ts';
import { type Column, Rows } from '../parts/rows.tsx';
import { AuditObject, type AuditRecord } from './audit-lines.tsx';

const COLUMNS: readonly Column<AuditRecord>[] = [
  { head: 'When', card: 'end', cell: ({ at }) => <Ago at={at} /> },
  { head: 'Who', card: 'lead', cell: ({ actor }) => <bdi>{actor}</bdi> },
  { head: 'Did', card: 'title', cell: ({ verb }) => <strong>{verb}</strong> },
  { head: 'To', cell: (record) => <AuditObject record={record} /> },
  { head: 'Why', isWide: true, cell: ({ reason }) => <bdi>{reason ?? <span className="muted">–</span>}</bdi> },
  {
    head: 'Details',
    isWide: true,
    isExtra: true,
    cell: ({ details }) => <bdi className="mono muted">{shown(details)}</bdi>,
  },
];

function shown(details: AuditRecord['details']): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

/** What was changed by hand. It cannot be changed. */
export function AuditPage(): ReactElement {
  const [search] = usePlace();
  const { verb, actor, handler, since, messageId } = search;
  const listed = useListed('audit', { verb, actor, handler, since, messageId }, { isLive: true });
  return (
    <>
      <PageHead title="Audit" note="Who changed what by hand, and why. The newest first." />
      <div className="filters">
        <FilterField name="actor" label="Who" isSearch />
        <FilterSelect name="verb" label="Did" choices={AUDIT_VERBS} />
        <FilterField name="handler" label="Handler" />
        <FilterField name="messageId" label="Message id" />
        <FilterSelect name="since" label="Since" choices={['1h', '1d', '7d', '30d']} />
      </div>
      <ListFrame
        listed={listed}
        empty={
          <Empty title="Nothing was changed by hand" command="holdfast audit">
            Every replay, discard, edit, pause … stands here, whether it was done here, on the command line or by an
            agent.
          </Empty>
        }
      >
        <Rows label="Audit" columns={COLUMNS} rows={listed.items} idOf={({ id }) => String(id)} />
      </ListFrame>
    </>
  );
}
