import type { HouseReport } from '../../relay/house-report.ts';
import type { Link } from '../driver/driver.ts';
import { SEQ_STEP } from '../schema/messages.ts';

/** How long rates are kept. A week is shown. */
const KEPT = `interval '8 days'`;
const SUMS = ['done', 'retried', 'dead', 'suppressed', 'refused'].map((name) => `sum(${name})`).join(', ');

/** How many deliveries were put in line since the schema was made, those included that were rolled back. */
export function sentSoFar(schema: string): string {
  return `coalesce((pg_sequence_last_value('${schema}.delivery_seq'::regclass) - 1) / ${SEQ_STEP} + 1, 0)`;
}

/** Notes what the housekeeper saw, once a minute, and tidies the notes before. */
export async function keepSample(link: Link, schema: string, report: HouseReport): Promise<void> {
  const [row] = await link.query(
    `insert into ${schema}.sample as s (minute, at, sent, pending, failed, oldest_ms, is_full, unserved)
    select date_trunc('minute', t), t, ${sentSoFar(schema)}, $1::text::bigint, $2::text::bigint, $3::text::bigint,
      $4::text::boolean, $5::text::jsonb from clock_timestamp() t
    on conflict (minute) do update set at = excluded.at, sent = excluded.sent, pending = excluded.pending, failed = excluded.failed,
      oldest_ms = excluded.oldest_ms, is_full = excluded.is_full, unserved = excluded.unserved
    returning (xmax = 0)::text`,
    [report.pending, report.failed, report.oldestMs ?? null, report.isFull, JSON.stringify(report.unserved)],
  );
  if (row?.[0] !== 'true') return;
  await link.query(`delete from ${schema}.sample where minute < clock_timestamp() - ${KEPT}`, []);
  await link.query(`delete from ${schema}.tally where at < clock_timestamp() - ${KEPT}`, []);
  await fold(link, schema, { unit: 'minute', span: 60, after: `interval '2 minutes'` });
  await fold(link, schema, { unit: 'hour', span: 3_600, after: `interval '26 hours'` });
}

/** Adds up rows of one handler. What comes later is a row of its own, and is added with the next fold. */
async function fold(
  link: Link,
  schema: string,
  { unit, span, after }: { readonly unit: string; readonly span: number; readonly after: string },
): Promise<void> {
  await link.query(
    `with old as (
      delete from ${schema}.tally where span < ${span} and at < date_trunc('${unit}', clock_timestamp() - ${after}) returning *)
    insert into ${schema}.tally (at, span, handler, done, retried, dead, suppressed, refused)
    select date_trunc('${unit}', at), ${span}, handler, ${SUMS} from old group by 1, 3`,
    [],
  );
}
