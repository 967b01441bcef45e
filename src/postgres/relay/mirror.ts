import type { DeadLetter, DeliveryError, RelaySession } from '../../relay/relay-store.ts';
import type { Link } from '../driver/driver.ts';
import { decodeDelivery, deliveryColumns } from './delivery-row.ts';
import { numberList } from './number-list.ts';

const BEFORE_ALL = { unit: -1, seq: -1 };

/** Finding dead letters of which no copy was made in this cycle, noting that there is one, and replaying those whose copy comes back. */
export function mirrorActs(
  link: Link,
  schema: string,
): Required<Pick<RelaySession<never>, 'unmirrored' | 'mirrored' | 'takeBack'>> {
  const find = `select d.* from unnest($1::text::int[]) as u (unit) cross join lateral (
      select d.error::text, (date_part('epoch', d.failed_at) * 1000)::bigint, ${deliveryColumns('always')}
      from ${schema}.delivery d where d.unit = u.unit and d.state = 2 and d.mirrored < d.cycle
        and d.type not in (select json_array_elements_text($3::text::json)) and d.type = coalesce($4::text, d.type)
        and (d.unit, d.seq) > ($5::text::int, $6::text::bigint)
      order by d.seq limit $2::text::int) d order by d.unit, d.seq limit $2::text::int`;
  // A replay since then began another cycle, and its end is another dead letter.
  const note = `update ${schema}.delivery d set mirrored = x.cycle
    from json_to_recordset($1::text::json) as x (unit int, seq bigint, cycle int)
    where d.unit = x.unit and d.state = 2 and d.seq = x.seq and d.cycle = x.cycle`;
  const known = `select d.id::text, d.handler, case when d.state = 2 and d.cycle = x.cycle then d.cycle end
    from json_to_recordset($2::text::json) as x (id uuid, cycle int) join ${schema}.delivery d on d.id = x.id
    join ${schema}.handler h on h.id = d.handler and h.service = $1::text`;
  // Locked with a look at the cycle: the same copy, taken back by another process, may have been tried and be dead again since.
  const replay = `select ${schema}.operator_replay(array_agg(x.id), array_agg(x.handler), null, 'broker', 'it came back')
    from (select d.id, d.handler from json_to_recordset($1::text::json) as x (id uuid, handler smallint, cycle int)
      join ${schema}.delivery d on d.id = x.id and d.handler = x.handler where d.state = 2 and d.cycle = x.cycle
      order by d.id, d.handler for update of d) x`;
  return {
    takeBack: async (service, copies) => {
      const rows = await link.query(known, [service, JSON.stringify(copies)]);
      const dead = rows.filter(([, , cycle]) => cycle !== null).map(([id, handler, cycle]) => ({ id, handler, cycle }));
      if (dead.length > 0) await link.query(replay, [JSON.stringify(dead)]);
      return rows.map(([id]) => id as string);
    },
    unmirrored: async (units, { limit, without = [], type = null, after = BEFORE_ALL }) => {
      const which = [JSON.stringify(without), type, after.unit, after.seq] as const;
      const rows = await link.query(find, [numberList(units), limit, ...which]);
      return rows.map((row): DeadLetter => ({
        delivery: decodeDelivery(row, 2, 'ready'),
        error: JSON.parse((row[0] as string | null) ?? '{}') as DeliveryError,
        failedAtMs: Number(row[1]),
      }));
    },
    mirrored: async (deliveries) => {
      const rows = deliveries.map(({ unit, seq, cycle }) => ({ unit, seq, cycle }));
      await link.query(note, [JSON.stringify(rows)]);
    },
  };
}
