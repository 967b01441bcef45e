import { randomUUID } from 'node:crypto';
import { Client, Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { DeliveryStatus } from '../../src/operator/operator-records.ts';
import type { Operator } from '../../src/operator/operator.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import type { TestServer } from '../support/needs.ts';

export const ANN = { actor: 'ann', reason: 'the mail server is back' };

/** A delivery row as a test wants it. What is left out is as after a plain send. */
export interface Row {
  readonly id?: string;
  readonly handler?: number;
  readonly state?: DeliveryStatus;
  readonly type?: string;
  readonly key?: string;
  readonly payload?: unknown;
  readonly generation?: number;
  readonly attempts?: number;
  readonly cycle?: number;
  readonly version?: number;
  readonly holds?: boolean;
  readonly dueInSeconds?: number;
  readonly failedSecondsAgo?: number;
  readonly error?: object;
  readonly retry?: object;
}

export const SMTP_ERROR = {
  name: 'Error',
  code: 'SMTP_DOWN',
  kind: 'network',
  message: 'no answer',
  stack: 'Error: no answer\n  at send',
};

/** A migrated schema of its own for one test, with the means to put rows into it as the engine would. */
export class OperatorDatabase {
  readonly schema: string;
  readonly pool: Pool;
  readonly operator: Operator;
  readonly #url: string;

  private constructor(schema: string, url: string) {
    this.schema = schema;
    this.#url = url;
    this.pool = new Pool({ connectionString: url, max: 5 });
    this.operator = postgresOperator({ pool: this.pool, schema });
  }

  static async open(server: TestServer): Promise<OperatorDatabase> {
    const database = new OperatorDatabase(await freshSchema(server), server.url);
    onTestFinished(() => database.pool.end());
    return database;
  }

  /** A connection of its own. */
  async connect(): Promise<Client> {
    const client = new Client({ connectionString: this.#url });
    await client.connect();
    await client.query(`set search_path = "${this.schema}"`);
    onTestFinished(() => client.end());
    return client;
  }

  /** Runs one statement in which `$S` is the schema. */
  async sql<T = Record<string, unknown>>(text: string, params: unknown[] = []): Promise<T[]> {
    return (await this.pool.query(text.replaceAll('$S', `"${this.schema}"`), params)).rows as T[];
  }

  /** Makes a handler known, with a lane for each generation, and gives its number. Its lanes have the same numbers, 10 apart. */
  async handler(
    id: number,
    service: string,
    name: string,
    options: { readonly types?: string[]; readonly repeatable?: boolean; readonly generations?: number[] } = {},
  ): Promise<number> {
    const { types = ['order.placed'], repeatable = false, generations } = options;
    const isPinned = generations !== undefined;
    await this.sql(`insert into $S.handler (id, service, name, is_pinned, is_repeatable) values ($1, $2, $3, $4, $5)`, [
      id,
      service,
      name,
      isPinned,
      repeatable,
    ]);
    for (const type of types) await this.sql(`insert into $S.subscription values ($1, $2, $3)`, [type, id, isPinned]);
    for (const [place, generation] of (generations ?? [null]).entries()) {
      await this.sql(`insert into $S.lane values ($1, $2, $3)`, [id + 10 * place, id, generation]);
    }
    return id;
  }

  /** A live worker that owns all units of these lanes. */
  async worker(name: string, lanes: number[], options: { readonly owns?: boolean } = {}): Promise<string> {
    const id = randomUUID();
    await this.sql(
      `insert into $S.worker (id, name, service, lanes, expires_at) values ($1, $2, 'mail', $3, now() + interval '1 hour')`,
      [id, name, lanes],
    );
    await this.sql(
      `insert into $S.lease (unit, owner) select l * m.units + b, $2
       from unnest($1::int[]) l, $S.meta m, generate_series(0, m.units - 1) b on conflict (unit) do nothing`,
      [lanes, options.owns === false ? null : id],
    );
    return id;
  }

  /** One delivery, open or finished; gives the message's id. */
  async delivery(row: Row = {}): Promise<string> {
    const { id = randomUUID(), handler = 1, state = 'ready', key = null, generation = null, version = 0 } = row;
    const envelope = [
      id,
      handler,
      row.type ?? 'order.placed',
      key,
      JSON.stringify(row.payload ?? { total: 5 }),
      generation,
      version,
      row.attempts ?? 0,
      row.cycle ?? 0,
      row.error === undefined ? null : JSON.stringify(row.error),
      `key-of-${id}`,
    ];
    const open = ['ready', 'waiting', 'failed'].indexOf(state);
    if (open < 0) {
      const outcome = ['delivered', 'discarded', 'cancelled'].indexOf(state);
      await this.sql(
        `insert into $S.delivered (slot, id, handler, type, key, payload, generation, version, attempts, cycle, error,
          idempotency_key, source, rerun, outcome, duration_ms) values (0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'orders', 0, ${outcome}, 7)`,
        envelope,
      );
      return id;
    }
    await this.sql(
      `insert into $S.delivery (id, handler, type, key, payload, generation, version, attempts, cycle, error, idempotency_key,
        source, unit, state, holds, retry, due_at, first_failed_at, failed_at)
       values ($1::uuid, $2::smallint, $3, $4::text, $5, $6::bigint, $7, $8, $9, $10, $11, 'orders',
         $S.operator_unit($2::smallint, $6::bigint, coalesce($4::text, $1::uuid::text)), ${open},
         ${row.holds ?? (open > 0 && key !== null && row.error !== undefined)}, $12, ${open === 1 ? secondsAgo(-(row.dueInSeconds ?? 60)) : 'null'},
         ${row.error === undefined ? 'null' : secondsAgo((row.failedSecondsAgo ?? 0) + 5)},
         ${open === 2 ? secondsAgo(row.failedSecondsAgo ?? 0) : 'null'})`,
      [...envelope, row.retry === undefined ? null : JSON.stringify(row.retry)],
    );
    return id;
  }

  /** A delivery that failed for good after five attempts. */
  async dead(row: Row = {}): Promise<string> {
    return this.delivery({ state: 'failed', attempts: 5, error: SMTP_ERROR, ...row });
  }

  /** The open delivery rows of a message, in the order of their handlers. */
  async rows(id: string): Promise<Record<string, unknown>[]> {
    return this.sql(`select * from $S.delivery where id = $1 order by handler`, [id]);
  }

  /** The operators' counters of all units, added up. */
  async pokes(): Promise<number> {
    const [row] = await this.sql<{ n: string }>(`select coalesce(sum(n), 0) as n from $S.poke`);
    return Number(row?.n);
  }

  /** Ends when so many sessions wait for a lock. */
  async waitingForLocks(sessions: number): Promise<void> {
    const text = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like $1`;
    await expect
      .poll(async () => (await this.sql<{ n: number }>(text, [`%${this.schema}%`]))[0]?.n)
      .toBeGreaterThanOrEqual(sessions);
  }
}

function secondsAgo(seconds: number): string {
  return `clock_timestamp() - ${seconds} * interval '1 second'`;
}
