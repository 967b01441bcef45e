import type { Pool } from 'pg';
import { seedLists } from './seed-lists.ts';
import { GROUP_ID } from './seed-group.ts';

const TYPE = `(array['order.placed', 'order.paid', 'user.created', 'mail.sent'])[1 + n % 4]`;
const HANDLER = '(1 + n % 12)::smallint';

/** A database as it is after a week of a busy shop, written by SQL: nothing is run. */
export async function seed(pool: Pool, size: { readonly delivered: number; readonly dead: number }): Promise<void> {
  await pool.query(`create function bench_id(ms bigint, n bigint) returns uuid language sql immutable as $$
    select (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid $$`);
  await pool.query(`insert into holdfast.handler (id, service, name, breaker)
    select n, (array['billing', 'mail', 'stock'])[1 + n % 3], 'handler-' || n, 'dependency-' || n from generate_series(1, 12) n`);
  // Handlers whose code is gone: what is retired while it is measured.
  await pool.query(`insert into holdfast.handler (id, service, name)
    select 100 + n, 'stock', 'old-' || n from generate_series(1, 60) n`);
  await pool.query(`insert into holdfast.lane (id, handler) select id, id from holdfast.handler`);
  await pool.query(`insert into holdfast.worker (id, name, service, lanes, expires_at)
    select gen_random_uuid(), 'bench-' || w, 'billing', array(select n::smallint from generate_series(1, 12) n), 'infinity'
    from generate_series(1, 8) w`);
  await seedHistory(pool, size.delivered);
  await seedDead(pool, size.dead);
  await seedOpen(pool, size.dead);
  await seedLists(pool, size);
  await pool.query('drop function bench_id');
  await pool.query('vacuum (analyze)');
}

/** Every tenth has a correlation of its own: five messages are of one action. */
async function seedHistory(pool: Pool, delivered: number): Promise<void> {
  await pool.query(`insert into holdfast.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, duration_ms, done_at,
      failure_history, type, key, payload, source, correlation_id, created_at)
    select n * 8 / ${delivered + 1}, bench_id(${sentMs(delivered)}, n), ${HANDLER}, case when n % 5000 = 0 then 1 else 0 end, 0, 1, 0, 0, 5,
      to_timestamp((${sentMs(delivered)}) / 1000.0),
      case when n % 1000 = 1 then '[{"cycle": 0, "error": {"name": "Error", "message": "no answer"}, "attempts": 5,
        "failedAt": "2026-01-01T00:00:00.000Z", "replayedAt": "2026-01-01T00:00:01.000Z"}]'::jsonb else '[]' end,
      case when n = ${delivered} / 2 then 'rare.type' else ${TYPE} end, 'key_' || n % 200000,
      jsonb_build_object('orderId', 'ord_' || n, 'customer', jsonb_build_object('id', n % 50000, 'name', 'Customer ' || n),
        'total', n % 977, 'note', repeat('x', 100)), 'shop', case when n % 10 = 0 then 'corr_' || n / 50 end,
      to_timestamp((${sentMs(delivered)}) / 1000.0)
    from generate_series(1, ${delivered}) n`);
  // As the housekeeper does with slots that are closed; two are not.
  await pool.query(`insert into holdfast.history_count (slot, handler, delivered)
    select slot, handler, count(*) from holdfast.delivered where outcome = 0 and slot < 6 group by slot, handler`);
  await pool.query('update holdfast.meta set slot = 7');
  await pool.query(`insert into holdfast.trace_link (id, message, at)
    select 'corr_' || n / 50, bench_id(${sentMs(delivered)}, n), now() from generate_series(10, ${delivered}, 10) n`);
  // Twenty messages of each person.
  await pool.query(`insert into holdfast.trace_link (id, message, at)
    select 'person:p' || n / 1000, bench_id(${sentMs(delivered)}, n), now() from generate_series(50, ${delivered}, 50) n`);
}

/** One in ten holds its key. */
async function seedDead(pool: Pool, dead: number): Promise<void> {
  await pool.query(`insert into holdfast.delivery (id, handler, unit, state, attempts, type, key, payload, source, created_at, holds,
      error, first_failed_at, failed_at)
    select bench_id(${sentMs(dead)}, -n), ${HANDLER}, (1 + n % 12) * 32 + n % 32, 2, 5, ${TYPE}, 'key_' || n,
      jsonb_build_object('orderId', 'dead_' || n, 'customer', jsonb_build_object('id', n % 5000)), 'shop', now(), n % 10 = 0,
      jsonb_build_object('name', 'Error', 'code', (array['ECONN', 'E42', 'TIMEOUT'])[1 + n % 3], 'message', 'no answer from host ' || n % 10,
        'kind', 'network', 'group', ${GROUP_ID}, 'stack', repeat('at call (shop/pay.ts:12:7) ', 20)), now(),
      now() - n * interval '1 second' from generate_series(1, ${dead}) n`);
}

/** What is on its way: ready, behind held keys too; scheduled by the sender; and tried again. */
async function seedOpen(pool: Pool, dead: number): Promise<void> {
  await pool.query(`insert into holdfast.delivery (id, handler, unit, type, key, payload, source)
    select gen_random_uuid(), ${HANDLER}, (1 + n % 12) * 32 + n % 32, ${TYPE}, 'key_' || n, '{"orderId": "open"}', 'shop'
    from generate_series(1, ${Math.ceil(dead * 0.4)}) n`);
  await pool.query(`insert into holdfast.delivery (id, handler, unit, state, due_at, type, key, payload, source)
    select gen_random_uuid(), ${HANDLER}, (1 + n % 12) * 32 + n % 32, 1, now() + interval '1 day', ${TYPE}, 'later_' || n, '{}', 'shop'
    from generate_series(1, 1000) n`);
  await pool.query(`insert into holdfast.delivery (id, handler, unit, state, due_at, attempts, holds, error, first_failed_at, failure_history,
      cycle, type, key, payload, source)
    select gen_random_uuid(), ${HANDLER}, (1 + n % 12) * 32 + n % 32, 1, now() + interval '1 hour', 2, true,
      '{"name": "Error", "code": "ECONN", "message": "no answer"}', now(),
      '[{"cycle": 0, "error": {"name": "Error", "message": "no answer"}, "attempts": 5, "failedAt": "2026-01-01T00:00:00.000Z",
        "replayedAt": "2026-01-01T00:00:01.000Z"}]', 1, ${TYPE}, 'again_' || n, '{}', 'shop'
    from generate_series(1, 2000) n`);
}

/** When message `n` of so many was sent: evenly over a week. */
function sentMs(count: number): string {
  return `(extract(epoch from now()) * 1000)::bigint - ((${count} - n)::bigint * 604800000 / ${count})`;
}
