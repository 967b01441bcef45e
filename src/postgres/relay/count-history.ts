import { sqlStateOf } from '../driver/database-error.ts';
import type { Link } from '../driver/driver.ts';
import { HISTORY_SLOTS } from '../schema/messages.ts';

const COUNT_TIMEOUT_MS = 5_000;
// Whoever settles has read which slot is the present one, and may still write to the one before.
const SETTLED_BY = `interval '1 minute'`;

/**
 * Counts the slot before the one that was closed last: it grows no more, and is emptied as a whole, so nobody has to count it again. A slot
 * that takes too long to count stays uncounted, and is counted by whoever asks.
 */
export async function countHistory(link: Link, schema: string): Promise<void> {
  const slot = `(m.slot + ${HISTORY_SLOTS - 2}) % ${HISTORY_SLOTS}`;
  const isUncounted = `m.slot_since < clock_timestamp() - ${SETTLED_BY}
    and not exists (select from ${schema}.history_count c where c.slot = ${slot})`;
  const [row] = await link.query(`select ${slot} from ${schema}.meta m where ${isUncounted}`, []);
  if (row === undefined) return;
  const counted = Number(row[0]);
  try {
    await link.transaction(async (query) => {
      await query(`set local statement_timeout = ${COUNT_TIMEOUT_MS}`);
      // From here on the ring cannot come round to this slot, which would empty it and fill it anew.
      await query(`lock table ${schema}.delivered_${counted} in access share mode`);
      const [still] = await query(`select 1 from ${schema}.meta m where ${slot} = ${counted}`, []);
      if (still === undefined) return;
      await query(`insert into ${schema}.history_count (slot, handler, delivered)
        select ${counted}, handler, count(*) from ${schema}.delivered_${counted} where outcome = 0 group by handler
        on conflict do nothing`);
    });
  } catch (error) {
    if (sqlStateOf(error) !== '57014') throw error;
  }
}

/** How many deliveries of each handler the history has, as columns `handler` and `delivered`. */
export function deliveredCounts(schema: string): string {
  const slots = Array.from(
    { length: HISTORY_SLOTS },
    (_, slot) => `select handler, count(*) as n from ${schema}.delivered_${slot}
      where outcome = 0 and not exists (select from ${schema}.history_count c where c.slot = ${slot}) group by handler`,
  );
  return `select handler, sum(n)::bigint as delivered from (
    select handler, delivered as n from ${schema}.history_count union all ${slots.join(' union all ')}) s group by handler`;
}
