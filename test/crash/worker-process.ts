// node worker-process.ts <options as JSON>
//
// One worker with two handlers, told by a journal. Ends on SIGTERM, after what it has started.
import { holdfast, type RelayObserver, type RunningRelay } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';
import { EFFECT, HANDLERS, SCHEMA, stepTaken, type Step } from './crash-events.ts';
import { openJournal } from './journal.ts';

/** How a worker of the crash tests is started. */
export interface WorkerOptions {
  readonly url: string;
  readonly name: string;
  readonly journal: string;
  readonly leaseMs: number;
  /** How far its clock is off, in milliseconds. Timers go on as they are. */
  readonly clockOffMs: number;
  /** How long a handler takes, at least and at most. */
  readonly workMs: readonly [least: number, most: number];
}

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const write = openJournal(options.journal);
if (options.clockOffMs !== 0) shiftClock(options.clockOffMs);

const pool = new Pool({ connectionString: options.url, max: 12 });
// The server is restarted under us: connections that are lost while idle are told here, and made anew.
pool.on('error', () => undefined);
const hf = holdfast({ service: 'crash', store: postgres({ pool, schema: SCHEMA }) });
const [byCommit, byProject] = HANDLERS;
const insert = (tx: PoolClient, handler: string, { key, n }: Step): Promise<unknown> =>
  tx.query(EFFECT, [handler, key, n, options.name]);

hf.on(stepTaken, byCommit, async (step, ctx) => {
  write('start', nameOf(byCommit, step));
  await perform(step, ctx.attempt);
  await work();
  await ctx.commit((tx: PoolClient) => insert(tx, byCommit, step));
});
hf.project(stepTaken, byProject, async (step, tx: PoolClient) => {
  write('start', nameOf(byProject, step));
  await insert(tx, byProject, step);
});

const ENDS = { 'run-done': 'done', 'run-failed': 'failed', 'run-refused': 'refused' } as const;
const tell: RelayObserver = (told) => {
  if (told.kind === 'run-done' || told.kind === 'run-failed' || told.kind === 'run-refused') {
    const step = JSON.parse(told.delivery.payload ?? '') as Step;
    write(ENDS[told.kind], nameOf(told.handler, step));
  } else if (told.kind === 'units-lost') write('mark', `lost ${told.units.length} ${told.why}`);
};
const running = await startWhenUp();
write('mark', 'ready');

process.once('SIGTERM', () => {
  void end();
});

/** As a process manager would: a worker that finds the server away is started again. */
async function startWhenUp(): Promise<RunningRelay> {
  for (;;) {
    try {
      return await hf.start({ name: options.name, leaseMs: options.leaseMs, observers: [tell] });
    } catch (error) {
      write('mark', `could not start: ${String(error)}`);
      await pause(100);
    }
  }
}

async function end(): Promise<void> {
  write('mark', 'stopping');
  await running.stop();
  write('mark', 'stopped');
  await pool.end();
  process.disconnect();
}

function nameOf(handler: string, { key, n }: Step): string {
  return `${handler} ${key} ${n}`;
}

async function perform({ deed }: Step, attempt: number): Promise<void> {
  if (deed === 'kill') process.kill(process.pid, 'SIGKILL');
  if (deed === 'fail once' && attempt === 1) throw new Error('not the first time');
  if (deed === 'wait long') await pause(1_500);
}

function work(): Promise<void> {
  const [least, most] = options.workMs;
  return pause(least + Math.random() * (most - least));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** From here on everything in this process that asks for the time of day gets a wrong one. */
function shiftClock(offMs: number): void {
  const RealDate = Date;
  class WrongDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      if (args.length === 0) super(RealDate.now() + offMs);
      else super(...args);
    }

    static override now(): number {
      return RealDate.now() + offMs;
    }
  }
  globalThis.Date = WrongDate as DateConstructor;
}
