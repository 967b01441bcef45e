import type { Pool } from 'pg';
import { GROUP_ID, GROUPS } from './seed-group.ts';

const MINUTES_KEPT = 8 * 1_440;

/** What is kept besides messages, so that no list is empty. */
export async function seedLists(pool: Pool, { dead }: { readonly dead: number }): Promise<void> {
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
      case when n % 3 = 0 then 'call' else 'request' end, n % 100 <> 0, 'user_' || n % 1000, array['r' || n, 'corr_' || n / 10],
      jsonb_build_object('operation', 'pay', 'url', 'https://api.bank.example/pay', 'httpStatus', 200, 'latencyMs', 12.3, 'attempt', 1,
        'requestId', 'r' || n, 'correlationId', 'corr_' || n / 10)
    from generate_series(1, 200000) n`);
  await seedGroups(pool);
  await seedBulks(pool, dead);
  await seedBreakers(pool);
  await seedCommands(pool);
  await pool.query(`insert into holdfast.audit (at, actor, verb, reason, message_id, handler)
    select now() - (100000 - n) * interval '5 seconds', 'person-' || n % 20, (array['replay', 'discard', 'pause', 'resume'])[1 + n % 4],
      'because', gen_random_uuid(), 1 + n % 12 from generate_series(1, 100000) n`);
}

/** Counted by the hour, of the last day, in four of the sixteen rows. */
async function seedGroups(pool: Pool): Promise<void> {
  await pool.query(`insert into holdfast.error_group (id, service, handler, type, error, frames, first_seen_at, last_seen_at)
    select ${GROUP_ID}, (array['billing', 'mail', 'stock'])[1 + (1 + n % 12) % 3], 'handler-' || 1 + n % 12,
      (array['order.placed', 'order.paid', 'user.created', 'mail.sent'])[1 + n % 4],
      jsonb_build_object('name', 'Error', 'code', (array['ECONN', 'E42', 'TIMEOUT'])[1 + n % 3], 'message', 'no answer from host'),
      '["pay shop/pay.ts"]', now() - interval '7 days', now() - n * interval '1 minute' from generate_series(0, ${GROUPS - 1}) n`);
  await pool.query(`insert into holdfast.error_tally ("group", hour, shard, n, last_at)
    select ${GROUP_ID}, (extract(epoch from now()) / 3600)::int - h, s, 7, now() - h * interval '1 hour' - n * interval '1 second'
    from generate_series(0, ${GROUPS - 1}) n, generate_series(0, 23) h, generate_series(0, 3) s`);
}

/** A thousand that are done, and the items of the newest: all dead letters there were, some of which failed again. */
async function seedBulks(pool: Pool, dead: number): Promise<void> {
  await pool.query(`insert into holdfast.bulk (id, verb, state, filter, canary, actor, reason, created_at, started_at, ended_at, is_cut, total,
      counts, canary_to)
    select gen_random_uuid(), 'replay', 'done', '{"errorCode": "ECONN"}', 10, 'person-' || n % 20, 'the bank is back',
      now() - n * interval '1 hour', now(), now(), false, ${dead}, array[0, 0, ${dead}, 0, 0, 0, 0], 10 from generate_series(1, 1000) n`);
  await pool.query(`insert into holdfast.bulk_item (bulk, place, id, handler, cycle, rerun, outcome, started_at, ended_at)
    select (select id from holdfast.bulk order by created_at desc limit 1), row_number() over (order by d.failed_at), d.id, d.handler,
      d.cycle, d.rerun, case when row_number() over (order by d.failed_at) % 1000 = 0 then 3 else 2 end, now(), now()
    from holdfast.delivery d where d.state = 2`);
}

async function seedBreakers(pool: Pool): Promise<void> {
  await pool.query(`insert into holdfast.breaker (service, name, failures, state, since, probe_at, error)
    select h.service, h.breaker, 5, case when h.id % 4 = 0 then 2 else 0 end, now(), now(),
      '{"name": "Error", "code": "ECONN", "message": "no answer"}' from holdfast.handler h where h.breaker is not null`);
  await pool.query(
    `insert into holdfast.breaker (service, name, failures) select 'mail', 'host-' || n, 5 from generate_series(1, 300) n`,
  );
}

/** Runs of five modules each, through the steps that commands take. */
async function seedCommands(pool: Pool): Promise<void> {
  await pool.query(`insert into holdfast.command (id, service, name, target, module, idempotency_key, state, on_exhausted, request_hash,
      correlation, keep_ms, updated_at)
    select bench_id((extract(epoch from now()) * 1000)::bigint - n * 100, -n), 'billing', 'charge-' || n % 5, 'run-' || n / 5, 'm' || n % 5,
      'idem-' || n, 'queued', 'dlq', sha256(n::text::bytea), jsonb_build_object('userId', 'user_' || n % 1000), 86400000, now()
    from generate_series(1, 20000) n`);
  await pool.query(`update holdfast.command set state = 'running', attempt = 1`);
  await pool.query(
    `update holdfast.command set state = 'done', attempts = 1, done_at = now() where request_hash < '\\xe0'`,
  );
  await pool.query(
    `update holdfast.command set state = 'dlq', error = '{"name": "Error", "message": "no"}' where state = 'running' and request_hash < '\\xf0'`,
  );
}
