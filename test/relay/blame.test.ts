import { Client, Pool, type PoolClient } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { testService } from './service.ts';

const test = needs('postgres');
const placed = event<number>('order.placed');

/** Whether the database is away, for those who go this way. */
const outage = { isOn: false };

class ClientInOutages extends Client {
  override query(...args: unknown[]): never {
    if (outage.isOn) return Promise.reject(new Error('the database is away')) as never;
    return Reflect.apply(super.query, this, args) as never;
  }
}

/** As if somebody had died who owned everything: who takes over starts with care. */
const ORPHAN = `with dead as (
    insert into $.worker (id, name, service, lanes, expires_at)
    values (gen_random_uuid(), 'dead', 'orders', '{1}', now() - interval '1 minute') returning id)
  insert into $.lease (unit, owner, epoch) select unit, dead.id, 1 from dead, generate_series(32, 63) unit
  on conflict (unit) do update set owner = excluded.owner returning unit`;

test('a message is not blamed for the death of a process that lost its lease while the database was away [X.3] [X.4]', async ({
  postgres: server,
}) => {
  const here = await testService(server);
  const pool = new Pool({ connectionString: server.url, max: 4, Client: ClientInOutages });
  pool.on('error', () => undefined);
  const hf = holdfast<PoolClient>({ service: 'orders', store: postgres({ pool, schema: here.schema }) });
  const goOn = Promise.withResolvers<void>();
  hf.on(placed, 'book', async (_, ctx) => {
    await goOn.promise;
    await ctx.commit((tx) => tx.query(`insert into "${here.schema}".effect values ('book', 1)`));
  });
  // The handler gets its number, and somebody who dies.
  const first = await here.start({ of: hf });
  await first.stop();
  await here.column(ORPHAN);
  await here.inTransaction((tx) => hf.send(tx, placed, 1));
  const relay = await here.start({ of: hf, leaseMs: 1_000 });
  onTestFinished(async () => {
    outage.isOn = false;
    await relay.stop({ drainMs: 50 });
    await pool.end();
  });
  await expect.poll(() => here.column('select starts from $.delivery')).toEqual([1]);
  outage.isOn = true;
  await expect.poll(() => here.events.some(({ kind }) => kind === 'units-lost')).toBe(true);
  await expect
    .poll(() => here.events.some((told) => told.kind === 'store-failed' && told.during === 'unmark'))
    .toBe(true);
  outage.isOn = false;
  await expect.poll(() => here.column('select starts from $.delivery')).toEqual([0]);
  goOn.resolve();
  await expect.poll(() => here.column('select id from $.effect')).toEqual(['book']);
});
