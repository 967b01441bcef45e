import { Pool } from 'pg';
import { findDriver } from '../../src/postgres/driver/find-driver.ts';
import { openSession } from '../../src/postgres/relay/session.ts';
import { wakeChannel } from '../../src/postgres/relay/wake-statement.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { uuidV7 } from '../../src/kernel/uuid-v7.ts';
import { faultyDriver, type StatementFaults } from './faulty-driver.ts';
import { HANDLER_NAMES, REPEATABLE, TYPES } from './handlers.ts';
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

  /** Forgets everything that one schedule left, generations too. */
  async clear(isPinned: boolean): Promise<void> {
    const { schema } = this;
    const tables = ['delivery', 'delivered', 'dedup', 'worker', 'waiter', 'running', 'poke', 'audit', 'effect'];
    await this.admin.query(`create table if not exists ${schema}.effect (n serial, id text, handler text, version int,
        worker int, key text);
      truncate ${tables.map((table) => `${schema}.${table}`).join()};
      delete from ${schema}.lease where unit / 2 in (select id from ${schema}.lane where generation is not null);
      delete from ${schema}.lane where generation is not null;
      update ${schema}.lease set owner = null, epoch = epoch + 1;
      update ${schema}.handler set paused_at = null, is_pinned = ${isPinned};
      update ${schema}.subscription set is_pinned = ${isPinned};
      update ${schema}.meta set units = 2`);
  }

  /** A worker's connections, with faults between its statements; `cut` ends them at the server as a kill would. */
  async openSession(faults: Omit<StatementFaults, 'cut'>): Promise<CutSession<SqlTransaction>> {
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
      driver: faultyDriver(driver, { ...faults, cut: () => terminate('1') }),
      listenDriver: driver,
      within: (native, work) => work(native as SqlTransaction),
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
    const session = await this.openSession({ random: new SeededRandom(1), rate: () => 0, onFault: () => undefined });
    const handlers = HANDLER_NAMES.map((name) => ({
      name,
      types: TYPES[name],
      isPinned: false,
      isRepeatable: REPEATABLE.has(name),
    }));
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

  /** Replays every dead letter, into a generation if one is given. Answers which. */
  async replayAll(generation: number | undefined): Promise<readonly { id: string; handler: string }[]> {
    const { schema } = this;
    const { rows } = await this.admin.query(
      `with dead as materialized (select d.id, d.handler from ${schema}.delivery d where d.state = 2),
        replayed as materialized (select ${schema}.operator_replay(array_agg(id), array_agg(handler), $1::bigint, 'simulation', null)
          from dead)
      select d.id::text as id, h.name as handler from dead d join ${schema}.handler h on h.id = d.handler, replayed`,
      [generation ?? null],
    );
    return rows;
  }

  /** Asks for one more run of a delivery that has ended well, whichever. Nothing when there is none or it is refused. */
  async rerun(random: SeededRandom): Promise<{ id: string; handler: string } | undefined> {
    const { schema } = this;
    const { rows } = await this.admin.query(`select d.id::text as id, d.handler as number, h.name as handler
      from ${schema}.delivered d join ${schema}.handler h on h.id = d.handler group by 1, 2, 3
      having (array_agg(d.outcome order by d.rerun desc))[1] = 0 order by 1, 2`);
    const row = rows[random.int(0, rows.length - 1)] as { id: string; number: number; handler: string } | undefined;
    if (!row) return undefined;
    const answer = await this.admin.query(
      `select ${schema}.operator_replay_message($1, array[$2::smallint], true, false, null, 'simulation', null) ->> 'kind' as kind`,
      [row.id, row.number],
    );
    return answer.rows[0]?.['kind'] === 'replayed' ? row : undefined;
  }

  async endStore(): Promise<EndStore> {
    const { schema } = this;
    const handlers = `left join ${schema}.handler h on h.id = d.handler`;
    const open = await this.admin.query(
      `select d.id::text as id, h.name as handler, d.state::text as state, d.unit, d.starts from ${schema}.delivery d ${handlers}`,
    );
    const done = await this.admin
      .query(`select d.id::text as id, h.name as handler, d.outcome, d.version, d.cycle, d.rerun, d.generation::int as generation,
        d.attempts, d.error
      from ${schema}.delivered d ${handlers} order by d.done_at`);
    const effects = await this.admin.query(`select id, handler, version, worker, key from ${schema}.effect order by n`);
    const delivered = done.rows.map((row) => {
      const generation = (row['generation'] as number | null) ?? undefined;
      return Object.assign(row, { outcome: OUTCOMES[row['outcome'] as number] ?? '', generation });
    });
    return {
      deliveries: () => open.rows,
      delivered: () => delivered,
      recorded: () => effects.rows,
    };
  }
}
