import type { Pool } from 'pg';

/** How much is seeded. */
export interface SeedSize {
  readonly delivered: number;
  readonly dead: number;
}

const MINUTES_KEPT = 8 * 1_440;

/** A database as it is after a week of a busy shop, written by SQL: nothing is run. */
export async function seed(pool: Pool, { delivered, dead }: SeedSize): Promise<void> {
  await pool.query(`create function bench_id(ms bigint, n bigint) returns uuid language sql immutable as $$
    select (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid $$`);
  await pool.query(`insert into holdfast.handler (id, service, name)
    select n, (array['billing', 'mail', 'stock'])[1 + n % 3], 'handler-' || n from generate_series(1, 12) n`);
  await pool.query(`insert into holdfast.lane (id, handler) select n, n from generate_series(1, 12) n`);
  await pool.query(`insert into holdfast.worker (id, name, service, lanes, expires_at)
    values (gen_random_uuid(), 'bench', 'billing', array(select n::smallint from generate_series(1, 12) n), 'infinity')`);
  const type = `(array['order.placed', 'order.paid', 'user.created', 'mail.sent'])[1 + n % 4]`;
  await pool.query(`insert into holdfast.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, duration_ms, done_at,
      type, key, payload, source, created_at)
    select n * 8 / ${delivered + 1}, bench_id(${sentMs(delivered)}, n), 1 + n % 12, case when n % 5000 = 0 then 1 else 0 end, 0, 1, 0, 0, 5,
      to_timestamp((${sentMs(delivered)}) / 1000.0), case when n = ${delivered} / 2 then 'rare.type' else ${type} end, 'key_' || n % 200000,
      jsonb_build_object('orderId', 'ord_' || n, 'customer', jsonb_build_object('id', n % 50000, 'name', 'Customer ' || n),
        'total', n % 977, 'note', repeat('x', 100)), 'shop', to_timestamp((${sentMs(delivered)}) / 1000.0)
    from generate_series(1, ${delivered}) n`);
  await pool.query(`insert into holdfast.delivery (id, handler, unit, state, attempts, type, key, payload, source, created_at, holds,
      error, first_failed_at, failed_at)
    select bench_id(${sentMs(dead)}, -n), 1 + n % 12, (1 + n % 12) * 32 + n % 32, 2, 5, ${type}, 'key_' || n,
      jsonb_build_object('orderId', 'dead_' || n, 'customer', jsonb_build_object('id', n % 5000)), 'shop', now(), n % 10 = 0,
      jsonb_build_object('name', 'Error', 'code', (array['ECONN', 'E42', 'TIMEOUT'])[1 + n % 3], 'message', 'no answer from host ' || n % 10,
        'kind', 'network'), now(), now() - n * interval '1 second' from generate_series(1, ${dead}) n`);
  await seedOthers(pool);
  await pool.query('drop function bench_id');
  await pool.query('vacuum (analyze)');
}

async function seedOthers(pool: Pool): Promise<void> {
  await pool.query(`insert into holdfast.tally select date_trunc('minute', now()) - n * interval '1 minute', 60, h, 100, 3, 1, 0, 0
    from generate_series(0, 1559) n, generate_series(1, 12) h`);
  await pool.query(`insert into holdfast.sample
    select date_trunc('minute', now()) - n * interval '1 minute', now() - n * interval '1 minute', (${MINUTES_KEPT} - n) * 100, 10, 5, 400,
      false, '[]' from generate_series(0, ${MINUTES_KEPT}) n`);
  await pool.query(`insert into holdfast.idempotency (id, domain, status, fingerprint, owner, run, lease_until, created_at, updated_at,
      expires_at, reap_at)
    select md5(n::text), 'orders', case when n % 1000 = 0 then 'processing' else 'completed' end, 'f', 'o', 1, now(), now(), now(),
      now() + interval '1 day', now() + interval '1 day' - n * interval '100 ms' from generate_series(1, 200000) n`);
  await pool.query(`insert into holdfast.fact
    select bench_id((extract(epoch from now()) * 1000)::bigint - n * 100, n), now() - n * interval '100 ms', 'shop',
      case when n % 3 = 0 then 'call' else 'request' end, n % 100 <> 0, null, array['r' || n],
      jsonb_build_object('operation', 'pay', 'url', 'https://api.bank.example/pay', 'httpStatus', 200, 'latencyMs', 12.3, 'attempt', 1)
    from generate_series(1, 200000) n`);
}

/** When message `n` of so many was sent: evenly over a week. */
function sentMs(count: number): string {
  return `(extract(epoch from now()) * 1000)::bigint - ((${count} - n)::bigint * 604800000 / ${count})`;
}
