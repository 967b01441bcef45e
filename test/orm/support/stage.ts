import { Client, type Pool } from 'pg';
import { afterAll, expect } from 'vitest';
import { idempotency } from '../../../src/idempotency/index.ts';
import { event, type EventDefinition, holdfast, type Holdfast } from '../../../src/index.ts';
import {
  postgres,
  postgresIdempotency,
  type SqlTransaction,
  type TransactionAdapter,
} from '../../../src/postgres/index.ts';
import { sharedPlace, withSetting } from '../../idempotency-stores/postgres-stores.ts';
import type { TestServer } from '../../support/needs.ts';
import { type AnyOrm, ORMS } from './orms.ts';

/** What is done with a transaction. Every line it writes begins with `line`. `run` counts from 1. */
type Effect = (tx: SqlTransaction, line: string, run: number) => Promise<unknown>;

/** Where an effect runs: in `ctx.commit`, as a projection, and in `run.commit`. */
const PLACES = ['commit', 'project', 'once'] as const;

/** What became of an effect in one of its places. */
interface Ran {
  readonly of: (typeof PLACES)[number];
  readonly runs: number;
  /** Which attempt was the last; 0 where there are none. */
  readonly attempt: number;
  /** What it wrote that was kept, without what every line begins with. */
  readonly lines: readonly string[];
  /** `done`, or the code of the error that it has failed with. */
  readonly outcome: string;
}

/** A service over one ORM. */
export interface Stage {
  readonly orm: AnyOrm;
  readonly hf: Holdfast<SqlTransaction>;
  /** An event that handlers may send. */
  readonly next: EventDefinition<{ readonly line: string }>;
  /** How many of it are stored. */
  readonly sent: () => Promise<number>;
  /** Runs the effect in each place until it is done or dead; in `run.commit`, three calls with one key, as a client would make them. */
  readonly run: (effect: Effect) => Promise<readonly Ran[]>;
}

/** What became of it in all places alike. */
export function everywhere(lines: readonly string[], outcome: string, runs: number, attempt = runs): readonly Ran[] {
  return PLACES.map((of) => ({ of, lines, outcome, runs, attempt: of === 'once' ? 0 : attempt }));
}

/** What became of it where it was refused: a message is not tried again. Its neighbours in a projection make it run more often. */
export function refusedEverywhere(outcome: string): readonly Ran[] {
  const runs = expect.any(Number) as number;
  return PLACES.map((of) => ({ of, lines: [], outcome, runs, attempt: of === 'once' ? 0 : 1 }));
}

/** Opens a stage for the first test of a `describe` that asks, and closes it after the last. */
export function stageOf(name: string): (server: TestServer) => Promise<Stage> {
  let opened: Promise<OrmStage> | undefined;
  afterAll(async () => (await opened)?.close());
  return (server) => (opened ??= open(name, server));
}

async function open(name: string, server: TestServer): Promise<OrmStage> {
  const { url: base, schema } = await sharedPlace(server);
  const url = withSetting(base, 'search_path', schema);
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query('create table if not exists own (line text not null)');
  const openOrm = ORMS[name];
  if (openOrm === undefined) throw new Error(`${name} is none of the ORMs`);
  const stage = new OrmStage(name, schema, await openOrm(url, schema), admin);
  await stage.start();
  return stage;
}

let made = 0;

class OrmStage implements Stage {
  readonly orm: AnyOrm;
  readonly hf: Holdfast<SqlTransaction>;
  readonly next: EventDefinition<{ readonly line: string }>;
  readonly #name: string;
  readonly #admin: Client;
  readonly #asked: EventDefinition<{ readonly line: string }>;
  readonly #idem: ReturnType<typeof idempotency<SqlTransaction>>;
  readonly #effects = new Map<string, Effect>();
  readonly #ran = new Map<string, { runs: number; attempt: number }>();
  #stop: (() => Promise<unknown>) | undefined;

  constructor(name: string, schema: string, orm: AnyOrm, admin: Client) {
    this.#name = name;
    this.orm = orm;
    this.#admin = admin;
    const service = `orm-${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
    const options = { pool: orm.pool as Pool, schema, wrap: orm.wrap as TransactionAdapter<Pool, SqlTransaction> };
    this.hf = holdfast({ service, store: postgres(options) });
    this.#idem = idempotency({ service, store: postgresIdempotency(options) });
    this.#asked = event(`${service}.asked`, { key: ({ line }) => line });
    this.next = event(`${service}.next`);
  }

  async start(): Promise<void> {
    const policy = { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 1 };
    this.hf.on(
      this.#asked,
      'commit',
      ({ line }, ctx) => ctx.commit((tx) => this.#run(line, 'commit', tx, ctx.attempt)),
      {
        policy,
        breaker: false,
      },
    );
    this.hf.project(this.#asked, 'project', ({ line }, tx, ctx) => this.#run(line, 'project', tx, ctx.attempt), {
      policy,
    });
    this.hf.on(this.next, 'next', () => {});
    const running = await this.hf.start();
    this.#stop = () => running.stop();
  }

  async close(): Promise<void> {
    await this.#stop?.();
    await this.orm.close();
    await this.#admin.end();
  }

  readonly sent: Stage['sent'] = async () =>
    (await this.#admin.query('select from outbox where type = $1', [this.next.type])).rowCount ?? 0;

  readonly run: Stage['run'] = async (effect) => {
    const line = `${this.#name}-${(made += 1)}`;
    this.#effects.set(line, effect);
    const sending = this.orm.transact(async (tx) => void (await this.hf.send(tx, this.#asked, { line })));
    const [once] = await Promise.all([this.#once(line), sending]);
    const outcomes = async (): Promise<readonly (string | undefined)[]> =>
      Promise.all([this.#outcome(line, 'commit'), this.#outcome(line, 'project')]);
    await expect.poll(outcomes, { timeout: 30_000 }).not.toContain(undefined);
    const all = [...(await outcomes()), once];
    return Promise.all(
      PLACES.map(async (of, at) => {
        const own = `${line}/${of}/`;
        const { runs = 0, attempt = 0 } = this.#ran.get(own) ?? {};
        return { of, runs, attempt, lines: await this.#lines(own), outcome: all[at] ?? '' };
      }),
    );
  };

  async #run(line: string, of: string, tx: SqlTransaction, attempt: number): Promise<void> {
    const own = `${line}/${of}/`;
    const runs = (this.#ran.get(own)?.runs ?? 0) + 1;
    this.#ran.set(own, { runs, attempt });
    await this.#effects.get(line)?.(tx, own, runs);
  }

  async #once(line: string): Promise<string> {
    let outcome = '';
    for (let call = 1; call <= 3; call += 1) {
      const calling = this.#idem.once(line, (run) => run.commit((tx) => this.#run(line, 'once', tx, 0).then(() => 1)));
      outcome = await calling.then(
        () => 'done',
        ({ code, name }: { readonly code?: string; readonly name: string }) => code ?? name,
      );
    }
    return outcome;
  }

  async #lines(own: string): Promise<readonly string[]> {
    const found = 'select line from own where starts_with(line, $1) order by 1';
    const { rows } = await this.#admin.query<{ line: string }>(found, [own]);
    return rows.map(({ line }) => line.slice(own.length));
  }

  /** Nothing while it is still to be run. */
  async #outcome(line: string, of: string): Promise<string | undefined> {
    const { rows } = await this.#admin.query<{ state: number; code: string }>(
      `select d.state, coalesce(d.error ->> 'code', d.error ->> 'name') as code from delivery d
        join handler h on h.id = d.handler where d.key = $1 and h.name = $2`,
      [line, of],
    );
    const [row] = rows;
    if (row === undefined) return 'done';
    return row.state === 2 ? row.code : undefined;
  }
}
