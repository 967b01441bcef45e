import { Pool } from 'pg';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { openSession } from '../../src/postgres/relay/session.ts';
import { wakeChannel } from '../../src/postgres/relay/wake-statement.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { uuidV7 } from '../../src/kernel/uuid-v7.ts';
import { faultyDriver } from './faulty-driver.ts';
import { HANDLER_NAMES, TYPES } from './handlers.ts';
import type { EndStore } from './invariants.ts';
import { SeededRandom } from './seeded-random.ts';
import type { CutSession } from './sim-worker.ts';

const OUTCOMES = ['delivered', 'discarded', 'cancelled'];

/** One schema on a real server, used by one schedule after the other. */
export class PgDesk {
  readonly schema: string;
  readonly admin: Pool;
  readonly #url: string;
  #sessions = 0;

  constructor(url: string, schema: string) {
    this.#url = url;
    this.schema = schema;
    this.admin = new Pool({ connectionString: url, max: 3, application_name: `${schema}_admin` });
  }

  /** Forgets everything that one schedule left. */
  async clear(): Promise<void> {
    const { schema } = this;
    await this.admin
      .query(`create table if not exists ${schema}.effect (n serial, id text, handler text, version int, worker int);
      truncate ${schema}.delivery, ${schema}.delivered, ${schema}.dedup, ${schema}.worker, ${schema}.waiter, ${schema}.running, ${schema}.poke, ${schema}.effect;
      update ${schema}.lease set owner = null, epoch = epoch + 1; update ${schema}.handler set paused_at = null;
      update ${schema}.meta set units = 2`);
  }

  /** A worker's connections, with faults between its statements; `cut` ends them at the server as a kill would. */
  async openSession(random: SeededRandom, rate: () => number): Promise<CutSession<SqlTransaction>> {
    const number = ++this.#sessions;
    const name = `${this.schema}_${number}`;
    const pool = new Pool({ connectionString: this.#url, max: 2, application_name: name });
    pool.on('error', () => undefined);
    const driver = findDriver(pool, systemEffects);
    if (!driver) throw new Error('pg is not known');
    const terminate = (limit: string): void => {
      const text = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 order by random() limit ${limit}`;
      void this.admin.query(text, [name]).catch(() => undefined);
    };
    const session = await openSession<SqlTransaction>({
      schema: this.schema,
      channel: wakeChannel(this.schema),
      driver: faultyDriver(driver, { random, rate, cut: () => terminate('1') }),
      listenDriver: driver,
      wrap: (native) => native as SqlTransaction,
      effects: systemEffects,
    });
    const close = async (): Promise<void> => {
      await session.close();
      await pool.end();
    };
    const cut = (): void => {
      terminate('all');
      void session.close().catch(() => undefined);
    };
    return { ...session, number, cut, close };
  }

  /** Handlers are known before the first message, as after the first deployment. */
  async deploy(): Promise<void> {
    const session = await this.openSession(new SeededRandom(1), () => 0);
    const handlers = HANDLER_NAMES.map((name) => ({ name, types: TYPES[name], isPinned: false, isRepeatable: false }));
    const id = uuidV7(1, new Uint8Array(10));
    await session.register({
      id,
      name: 'deployment',
      service: 'simulation',
      generation: undefined,
      handlers,
      leaseMs: 1_000,
    });
    await session.leave(id);
    await session.close();
  }

  async openCount(): Promise<number> {
    const { rows } = await this.admin.query(`select count(*)::int as n from ${this.schema}.delivery`);
    return rows[0]?.['n'] as number;
  }

  /** Replays every dead letter, as an operator's statement would. */
  async replayAll(): Promise<void> {
    const { schema } = this;
    await this.admin
      .query(`with changed as (update ${schema}.delivery set state = 1, due_at = clock_timestamp(), failed_at = null,
        attempts = 0, starts = 0, retry = null, cycle = cycle + 1 where state = 2 returning unit)
      insert into ${schema}.poke (unit, n) select distinct unit, 1 from changed on conflict (unit) do update set n = poke.n + 1`);
  }

  async endStore(): Promise<EndStore> {
    const { schema } = this;
    const handlers = `left join ${schema}.handler h on h.id = d.handler`;
    const open = await this.admin.query(
      `select d.id::text as id, h.name as handler, d.state::text as state, d.unit, d.starts from ${schema}.delivery d ${handlers}`,
    );
    const done = await this.admin
      .query(`select d.id::text as id, h.name as handler, d.outcome, d.version, d.cycle, d.attempts, d.error
      from ${schema}.delivered d ${handlers} order by d.done_at`);
    const effects = await this.admin.query(`select id, handler, version, worker from ${schema}.effect order by n`);
    const delivered = done.rows.map((row) => Object.assign(row, { outcome: OUTCOMES[row['outcome'] as number] ?? '' }));
    return {
      deliveries: () => open.rows,
      delivered: () => delivered,
      recorded: () => effects.rows,
    };
  }
}
