// node awkward-process.ts <options as JSON>
//
// One worker whose three handlers misbehave, each message in the way of its number. Every other worker has postgres.js, the rest pg.
import { AsyncLocalStorage } from 'node:async_hooks';
import { constant, holdfast, policy, type RelayObserver, TerminalHandlerError } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';
import postgresJs, { type Sql, type TransactionSql } from 'postgres';
import { AWKWARD_HANDLERS, SCHEMA, stepTaken, type Step } from './crash-events.ts';
import { openJournal } from './journal.ts';
import { type EffectStage, HARMFUL, HARMLESS, misdeedOf, refused, SPOILED } from './misdeeds.ts';
import type { WorkerOptions } from './worker-process.ts';

type Tx = PoolClient | TransactionSql;

/** What of a run its effect needs to know. */
interface AwkwardRun {
  readonly handler: string;
  readonly replays: number;
}

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const write = openJournal(options.journal);
const isPg = Number(options.name.slice(1)) % 2 === 1;
const hf = holdfast<Tx>({ service: 'crash', store: isPg ? storeOfPg() : storeOfPostgresJs() });
const [byCommit, byProject, byBatch] = AWKWARD_HANDLERS;
const wrapped = new AsyncLocalStorage<'fails'>();
const tries = policy({ maxAttempts: 3, schedule: constant(20) });

hf.on(
  stepTaken,
  byCommit,
  async (step, ctx) => {
    begin(step, ctx);
    await pause(options.workMs[0] + Math.random() * (options.workMs[1] - options.workMs[0]));
    const isWrapFailing = misdeedOf(step) === 'failing wrap' && ctx.replays === 0;
    if (isWrapFailing) write('mark', `misdeed ${byCommit}: failing wrap`);
    const commit = (): Promise<void> => ctx.commit((tx) => awkward(tx, [{ step, run: ctx }]));
    await (isWrapFailing ? wrapped.run('fails', commit) : commit());
  },
  { policy: tries },
);
hf.project(
  stepTaken,
  byProject,
  async (step, tx, ctx) => {
    begin(step, ctx);
    await awkward(tx, [{ step, run: ctx }]);
  },
  { policy: tries },
);
hf.projectAll(
  stepTaken,
  byBatch,
  async (batch, tx) => {
    for (const { payload, ctx } of batch) begin(payload, ctx);
    const items = batch.map(({ payload, ctx }) => ({ step: payload, run: ctx }));
    await awkward(tx, items);
  },
  { policy: tries, onDead: 'park' },
);

const ENDS = { 'run-done': 'done', 'run-failed': 'failed', 'run-refused': 'refused' } as const;
const observe: RelayObserver = (event) => {
  if (event.kind !== 'run-done' && event.kind !== 'run-failed' && event.kind !== 'run-refused') return;
  const step = JSON.parse(event.delivery.payload ?? '') as Step;
  write(ENDS[event.kind], nameOf(step, { handler: event.handler, replays: event.delivery.cycle }));
};
await startWhenUp();
write('mark', 'ready');
process.once('disconnect', () => process.exit());

/** As a process manager would: a worker that finds the server away is started again. */
async function startWhenUp(): Promise<void> {
  for (;;) {
    try {
      await hf.start({ name: options.name, leaseMs: options.leaseMs, observers: [observe] });
      return;
    } catch (error) {
      write('mark', `could not start: ${String(error)}`);
      await pause(100);
    }
  }
}

function storeOfPg(): ReturnType<typeof postgres<Pool, Tx>> {
  const pool = new Pool({ connectionString: options.url, max: 10 });
  // Connections that are lost while idle.
  pool.on('error', () => undefined);
  return postgres({ pool, schema: SCHEMA, wrap });
}

function storeOfPostgresJs(): ReturnType<typeof postgres<Sql, Tx>> {
  // Its query for array types is awaited by nobody, and would end the process with its connection: docs/outbox.md.
  const pool = postgresJs(options.url, { max: 10, onnotice: () => undefined, fetch_types: false });
  return postgres({ pool, schema: SCHEMA, wrap });
}

function wrap(tx: Tx): Tx {
  if (wrapped.getStore() === 'fails') throw new Error('this wrap has failed');
  return tx;
}

function begin(step: Step, run: AwkwardRun): void {
  write('start', nameOf(step, run));
}

function nameOf({ key, n }: Step, { handler, replays }: AwkwardRun): string {
  return `${handler} ${key} ${n} ${replays}`;
}

type Later = readonly [ms: number, work: () => unknown];

/** The effects of one call of a handler, one after the other. */
async function awkward(tx: Tx, items: readonly { readonly step: Step; readonly run: AwkwardRun }[]): Promise<void> {
  const late: Later[] = [];
  try {
    for (const { step, run } of items) await effect(stageOf(tx, step, run, late), step, run);
  } finally {
    for (const [ms, work] of late) setTimeout(() => void refused(work), ms);
  }
}

async function effect(stage: EffectStage, step: Step, { handler, replays }: AwkwardRun): Promise<void> {
  const misdeed = misdeedOf(step);
  if (misdeed === undefined) return void (await stage.insert());
  const isSpoiled = misdeed === SPOILED && step.version === undefined;
  const deed = HARMLESS[misdeed] ?? (replays === 0 ? HARMFUL[misdeed] : undefined);
  if (deed || isSpoiled) write('mark', `misdeed ${handler}: ${misdeed}`);
  if (isSpoiled) throw new TerminalHandlerError('nobody can read this');
  await (deed ? deed(stage) : stage.insert());
}

function stageOf(tx: Tx, { key, n, version = 0 }: Step, { handler }: AwkwardRun, late: Later[]): EffectStage {
  const query = async (text: string, params: (string | number)[]): Promise<unknown> =>
    isPg ? (tx as PoolClient).query(text, params) : (tx as TransactionSql).unsafe(text, params);
  return {
    tx: isPg ? { pg: tx as PoolClient } : { postgresJs: tx as TransactionSql },
    insert: () =>
      query('insert into effect (handler, key, n, version, worker) values ($1, $2, $3, $4, $5)', [
        handler,
        key,
        n,
        version,
        options.name,
      ]),
    escape: () => query('insert into escaped values ($1, $2, $3)', [handler, key, n]),
    escapeLine: `${handler}\t${key}\t${n}\n`,
    run: async (text) => (isPg ? (tx as PoolClient).query(text) : (tx as TransactionSql).unsafe(text)),
    later: (ms, work) => void late.push([ms, work]),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
