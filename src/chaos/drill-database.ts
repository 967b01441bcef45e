import type { Pool } from 'pg';
import { migrate } from '../postgres/migrate.ts';
import { postgresOperator } from '../postgres/operator/postgres-operator.ts';
import type { Operator } from '../operator/operator.ts';
import { quotedSchema } from '../postgres/schema-name.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { countStatements, deadStatement, drillTables } from './drill-tables.ts';
import { importPg } from './pg-module.ts';
import { HANDLERS } from './step.ts';

const BACK_WITHIN_MS = 30_000;
const AGAIN_MS = 50;

const sleep = createSleep(systemEffects);

/** What must hold in the end, counted by the database from what was committed. */
export interface DrillCounts {
  readonly sent: number;
  readonly secondRows: number;
  readonly messages: number;
  /** Rows whose message is not there, and messages whose row is not there. */
  readonly messageless: number;
  readonly rowless: number;
  readonly effects: number;
  readonly lost: number;
  readonly second: number;
  readonly invented: number;
  readonly outOfOrder: number;
  readonly dead: number;
  readonly deadWanted: number;
  readonly deadMissing: number;
  readonly deadStrange: number;
}

/** How far the work is. */
export interface DrillProgress {
  readonly sent: number;
  /** Those of them whose handlers take them; of the others, those that are mended later. */
  readonly taken: number;
  readonly mended: number;
  readonly effects: number;
  /** Deliveries that are not finished, dead letters left out. */
  readonly open: number;
  readonly dead: number;
}

/** The drill's own view of the database, past all proxies. While the server is away, it asks again. */
export class DrillDatabase {
  readonly schema: string;
  /** Of the service that sends. */
  readonly operator: Operator;
  readonly quoted: string;
  /** The schema of the service that consumes; the same where there is only one. */
  readonly consumerSchema: string;
  readonly consumerOperator: Operator;
  readonly #consumer: string;
  readonly #pool: Pool;

  private constructor(pool: Pool, schema: string, consumerSchema: string) {
    this.#pool = pool;
    this.schema = schema;
    this.consumerSchema = consumerSchema;
    this.quoted = quotedSchema('drill', schema);
    this.#consumer = quotedSchema('drill', consumerSchema);
    this.operator = postgresOperator({ pool, schema });
    this.consumerOperator = postgresOperator({ pool, schema: consumerSchema });
  }

  /** The schemas of the engine: that of the service that sends, and that of the one that consumes. */
  get #engines(): readonly string[] {
    return [...new Set([this.quoted, this.#consumer])];
  }

  /** Makes the schemas with the engine's tables, and the drill's in the first. */
  static async make(url: string, schema: string, pg: string, consumerSchema: string = schema): Promise<DrillDatabase> {
    const { Client, Pool: PgPool } = await importPg(pg);
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      for (const one of new Set([schema, consumerSchema])) await migrate(client, { schema: one });
      for (const table of drillTables(quotedSchema('drill', schema))) await client.query(table);
    } finally {
      await client.end();
    }
    const pool = new PgPool({ connectionString: url, max: 4, connectionTimeoutMillis: 5_000 });
    pool.on('error', () => undefined);
    return new DrillDatabase(pool, schema, consumerSchema);
  }

  async rows<Row>(text: string, params: readonly unknown[] = []): Promise<readonly Row[]> {
    const endMs = systemEffects.monoMs() + BACK_WITHIN_MS;
    for (;;) {
      try {
        return (await this.#pool.query(text, [...params])).rows as Row[];
      } catch (error) {
        if (!isAway(error) || systemEffects.monoMs() > endMs) throw error;
        await sleep(AGAIN_MS);
      }
    }
  }

  async count(text: string, params: readonly unknown[] = []): Promise<number> {
    return Number((await this.rows<{ count: string }>(text, params))[0]?.count ?? 0);
  }

  async progress(): Promise<DrillProgress> {
    const [row] = await this.rows<Record<keyof DrillProgress, string>>(`select s.*,
      (select count(*) from ${this.quoted}.drill_effect) as effects,
      ${this.#engines.map((engine) => `(select count(*) from ${engine}.delivery where state <> 2)`).join(' + ')} as open,
      ${this.#engines.map((engine) => `(select count(*) from ${engine}.delivery where state = 2)`).join(' + ')} as dead
      from (select count(*) as sent, count(*) filter (where kind in ('plain', 'flaky')) as taken,
        count(*) filter (where kind = 'mended') as mended from ${this.quoted}.drill_sent) s`);
    const of = (name: keyof DrillProgress): number => Number(row?.[name] ?? 0);
    return {
      sent: of('sent'),
      taken: of('taken'),
      mended: of('mended'),
      effects: of('effects'),
      open: of('open'),
      dead: of('dead'),
    };
  }

  /** `kinds` are those that must be dead letters. */
  async counts(kinds: readonly string[]): Promise<DrillCounts> {
    const statements = countStatements(this.quoted);
    const [dead] = await this.rows<Record<string, string>>(deadStatement(this.quoted, this.#engines), [
      HANDLERS,
      kinds,
    ]);
    return {
      sent: await this.count(statements.sent),
      secondRows: await this.count(statements.secondRows),
      messages: await this.count(statements.messages),
      messageless: await this.count(statements.messageless),
      rowless: await this.count(statements.rowless),
      effects: await this.count(statements.effects),
      lost: await this.count(statements.lost, [HANDLERS]),
      second: await this.count(statements.second),
      invented: await this.count(statements.invented),
      outOfOrder: await this.count(statements.outOfOrder),
      dead: Number(dead?.['dead']),
      deadWanted: Number(dead?.['wanted']),
      deadMissing: Number(dead?.['missing']),
      deadStrange: Number(dead?.['strange']),
    };
  }

  /** How many units the worker of this name owns. */
  unitsOf(worker: string): Promise<number> {
    const text = `select count(*) from ${this.#consumer}.lease l join ${this.#consumer}.worker w on l.owner = w.id where w.name = $1`;
    return this.count(text, [worker]);
  }

  /** Those of these runs, `handler key n`, that have neither an effect nor ended as a dead letter. */
  async unfinishedOf(runs: readonly string[]): Promise<readonly string[]> {
    const text = `select r.name from unnest($1::text[]) as r (name),
        lateral (select split_part(name, ' ', 1) as handler, split_part(name, ' ', 2) as key, split_part(name, ' ', 3)::int as n) x
      where not exists (select from ${this.quoted}.drill_effect e where e.key = x.key and e.n = x.n and e.handler = x.handler)
        and not exists (select from ${this.quoted}.drill_sent s join ${this.#consumer}.delivery d on d.id = s.id
          where s.key = x.key and s.n = x.n and d.state = 2)`;
    return (await this.rows<{ name: string }>(text, [runs])).map(({ name }) => name);
  }

  effectsOf(worker: string): Promise<number> {
    return this.count(`select count(*) from ${this.quoted}.drill_effect where worker = $1`, [worker]);
  }

  /**
   * The messages that a handler has published last and that have arrived, the newest first. One that has not arrived yet could come in one
   * batch with its repeat, and the two would be counted as one arrival.
   */
  async publishedBy(handler: string, count: number): Promise<readonly string[]> {
    const text = `select d.id::text as id from ${this.quoted}.delivered d join ${this.quoted}.handler h on h.id = d.handler
      join ${this.quoted}.drill_sent s on s.id = d.id
      where h.name = $1 and d.outcome = 0 and d.id in (select id from ${this.#consumer}.inbox) group by d.id, s.at order by s.at desc limit $2`;
    return (await this.rows<{ id: string }>(text, [handler, count])).map(({ id }) => id);
  }

  /** How many of these messages came from a broker more than once. */
  cameAgain(ids: readonly string[]): Promise<number> {
    return this.count(
      `select count(distinct id) from ${this.#consumer}.inbox where times > 1 and id = any ($1::uuid[])`,
      [ids],
    );
  }

  /** How often messages came from a broker that had come before. */
  arrivalsAgain(): Promise<number> {
    return this.count(`select coalesce(sum(times - 1), 0) as count from ${this.#consumer}.inbox`);
  }

  /** How many of what was acknowledged, so far of each key, was never committed. */
  async missingOf(reached: ReadonlyMap<string, number>): Promise<number> {
    const text = `select coalesce(sum(r.n - (select count(distinct s.n) from ${this.quoted}.drill_sent s where s.key = r.key and s.n <= r.n)), 0) as count
      from unnest($1::text[], $2::int[]) as r (key, n)`;
    return this.count(text, [[...reached.keys()], [...reached.values()]]);
  }

  /** When the next effect was, by the clock of the database, in milliseconds. */
  nextEffectMs(afterMs: number): Promise<number | undefined> {
    return this.#time(
      `select min(at) as at from ${this.quoted}.drill_effect where at > to_timestamp($1::float8 / 1000)`,
      [afterMs],
    );
  }

  /** Whether a message that was sent later than this, by the clock of the database, has had an effect. */
  async hasEffectSince(sentMs: number): Promise<boolean> {
    const text = `select 1 as one from ${this.quoted}.drill_sent s join ${this.quoted}.drill_effect e using (key, n)
      where s.at > to_timestamp($1::float8 / 1000) limit 1`;
    return (await this.rows(text, [sentMs])).length > 0;
  }

  lastEffectMs(): Promise<number | undefined> {
    return this.#time(`select max(at) as at from ${this.quoted}.drill_effect`);
  }

  /** When the last of these runs, `handler key n`, had its effect; those that are mended later left out. */
  lastFirstEffectMs(runs: readonly string[]): Promise<number | undefined> {
    const text = `select max(first) as at from (select min(e.at) as first from ${this.quoted}.drill_effect e
      join ${this.quoted}.drill_sent s using (key, n)
      where s.kind <> 'mended' and e.handler || ' ' || e.key || ' ' || e.n = any ($1::text[]) group by e.handler, e.key, e.n) f`;
    return this.#time(text, [runs]);
  }

  async #time(text: string, params: readonly unknown[] = []): Promise<number | undefined> {
    const [row] = await this.rows<{ ms: number | null }>(
      `select extract(epoch from q.at)::float8 * 1000 as ms from (${text}) q`,
      params,
    );
    return row?.ms ?? undefined;
  }

  /** How many rows of a table of the drill are of each step of time. */
  async inSteps(
    table: 'drill_sent' | 'drill_effect',
    fromMs: number,
    stepMs: number,
    steps: number,
  ): Promise<readonly number[]> {
    const step = `floor((extract(epoch from at)::float8 * 1000 - $1::float8) / $2::float8)::int`;
    const rows = await this.rows<{ step: number; count: string }>(
      `select ${step} as step, count(*) from ${this.quoted}.${table} group by 1`,
      [fromMs, stepMs],
    );
    const counts = new Map(rows.map(({ step: at, count }) => [at, Number(count)]));
    return Array.from({ length: steps }, (_, at) => counts.get(at) ?? 0);
  }

  /** The time of day of the database, in milliseconds. */
  async nowMs(): Promise<number> {
    const [row] = await this.rows<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms');
    return row?.ms ?? 0;
  }

  /** What the engine's own tables hold, as the server estimates it, and what all takes on disk. */
  async size(): Promise<{ readonly rows: number; readonly bytes: number }> {
    const text = `select coalesce(sum(s.n_live_tup) filter (where s.relname !~ '^drill_'), 0) as rows,
        coalesce(sum(pg_total_relation_size(s.relid)), 0) as bytes
      from pg_stat_user_tables s where s.schemaname = any ($1::text[])`;
    const [row] = await this.rows<{ rows: string; bytes: string }>(text, [[this.schema, this.consumerSchema]]);
    return { rows: Number(row?.rows), bytes: Number(row?.bytes) };
  }

  /** How many messages of these the service that consumes has not finished. */
  openOf(ids: readonly string[]): Promise<number> {
    return this.count(`select count(*) from ${this.#consumer}.delivery where id = any ($1::uuid[])`, [ids]);
  }

  /** Takes the schemas away, with all that is in them. */
  async drop(): Promise<void> {
    for (const schema of this.#engines) await this.rows(`drop schema if exists ${schema} cascade`);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function isAway(error: unknown): boolean {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string };
  return /^(?:57P|08|ECONN|EPIPE)/.test(code) || /terminated|timeout/i.test(message);
}
