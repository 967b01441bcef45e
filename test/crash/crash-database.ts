import { migrate } from 'holdfast/postgres';
import { Client, Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { HANDLERS, SCHEMA, TABLES } from './crash-events.ts';

const BACK_WITHIN_MS = 30_000;

/** What must hold in the end, counted by the database from what was committed. */
export interface Ledger {
  readonly sent: number;
  readonly effects: number;
  /** Messages without an effect of some handler. */
  readonly lost: number;
  /** Effects beyond the first of the same message and handler. */
  readonly second: number;
  /** Effects of messages that were never committed. */
  readonly invented: number;
  /** Effects that came after one of a later message of the same key. */
  readonly outOfOrder: number;
  readonly delivered: number;
  readonly open: number;
  readonly dead: number;
}

/** The test's own view of the database. It outlives restarts: while the server is away, it asks again. */
export class CrashDatabase {
  readonly #pool: Pool;

  private constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 3, connectionTimeoutMillis: 5_000 });
    this.#pool.on('error', () => undefined);
  }

  /** Makes the engine's tables and the test's. */
  static async make(url: string): Promise<CrashDatabase> {
    const client = new Client({ connectionString: url });
    await client.connect();
    await migrate(client, { schema: SCHEMA });
    for (const table of TABLES) await client.query(table);
    await client.end();
    const database = new CrashDatabase(url);
    onTestFinished(() => database.#pool.end());
    return database;
  }

  async rows<Row extends Record<string, unknown>>(text: string, params: readonly unknown[] = []): Promise<Row[]> {
    const deadlineMs = performance.now() + BACK_WITHIN_MS;
    for (;;) {
      try {
        return (await this.#pool.query<Row>(text, [...params])).rows;
      } catch (error) {
        if (!isAway(error) || performance.now() > deadlineMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async count(text: string, params: readonly unknown[] = []): Promise<number> {
    return Number((await this.rows<{ count: string }>(text, params))[0]?.count);
  }

  /** Under which ids a worker is known to the others: one, or none while it joins. */
  async workerIds({ name }: { readonly name: string }): Promise<string[]> {
    const rows = await this.rows<{ id: string }>(`select id::text as id from ${SCHEMA}.worker where name = $1`, [name]);
    return rows.map(({ id }) => id);
  }

  /** How many units these workers own. */
  unitsOf(workerIds: readonly string[]): Promise<number> {
    return this.count(`select count(*) from ${SCHEMA}.lease where owner = any($1::uuid[])`, [workerIds]);
  }

  /** Nothing is left to do: every delivery is finished or a dead letter. */
  async isDone(): Promise<boolean> {
    return (await this.rows(`select 1 as one from ${SCHEMA}.delivery where state <> 2 limit 1`)).length === 0;
  }

  /** What is left and who has it, for whoever finds out why. */
  async leftovers(): Promise<string> {
    const looks = {
      deliveries: `select unit, state, count(*)::int as count, min(seq)::text as first, min(tx)::text as tx, bool_or(holds) as holds,
        min(due_at - now())::text as due, max(attempts) as attempts, owner::text, epoch::text
        from ${SCHEMA}.delivery left join ${SCHEMA}.lease using (unit) where state <> 2 group by unit, state, owner, epoch`,
      dead: `select unit, key, starts, error ->> 'message' as error from ${SCHEMA}.delivery where state = 2`,
      paused: `select name from ${SCHEMA}.handler where paused_at is not null`,
      workers: `select id::text, name, lanes, (expires_at - now())::text as left from ${SCHEMA}.worker`,
      sessions: `select pid, state, wait_event, (now() - xact_start)::text as open, left(query, 90) as query
        from pg_stat_activity where datname = current_database() and (xact_start is not null or state <> 'idle')`,
      snapshot: `select pg_current_snapshot()::text as snapshot`,
    };
    const seen = await Promise.all(Object.entries(looks).map(async ([name, text]) => [name, await this.rows(text)]));
    return JSON.stringify(Object.fromEntries(seen));
  }

  async ledger(): Promise<Ledger> {
    const expected = `(select key, n, handler from sent cross join unnest($1::text[]) handler)`;
    const one = (text: string, params: readonly unknown[] = []): Promise<number> => this.count(text, params);
    return {
      sent: await one('select count(*) from sent'),
      effects: await one('select count(*) from effect'),
      lost: await one(
        `select count(*) from ${expected} s left join effect e using (key, n, handler) where e.n is null`,
        [HANDLERS],
      ),
      second: await one('select count(*) - count(distinct (handler, key, n)) as count from effect'),
      invented: await one('select count(*) from effect e left join sent s using (key, n) where s.n is null'),
      outOfOrder: await one(`select count(*) from
        (select n, max(n) over (partition by handler, key order by place rows unbounded preceding) as most from effect) e
        where n < most`),
      delivered: await one(`select count(*) from ${SCHEMA}.delivered`),
      open: await one(`select count(*) from ${SCHEMA}.delivery where state <> 2`),
      dead: await one(`select count(*) from ${SCHEMA}.delivery where state = 2`),
    };
  }
}

function isAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string };
  return /^(57P|08|ECONN|EPIPE)/.test(code ?? '') || /connection terminated|timeout exceeded/i.test(message);
}
