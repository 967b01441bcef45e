// Started by a drill, and told what to do by the channel to it: one worker of its service, with two handlers. Ends when it is told to, and
// when the drill is gone.
import { writeSync } from 'node:fs';
import type { PoolClient } from 'pg';
import { createSleep } from '../kernel/sleep.ts';
import { postgres } from '../postgres/postgres.ts';
import { quotedSchema } from '../postgres/schema-name.ts';
import type { Publish } from '../relay/handler.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import type { RunningRelay } from '../relay/relay.ts';
import { TerminalHandlerError } from '../retry/terminal-handler-error.ts';
import { type Holdfast, holdfast } from '../service/holdfast.ts';
import { systemEffects } from '../system/effects.ts';
import type { Transport, TransportHost } from '../transport/transport.ts';
import { openTransport } from './broker-way.ts';
import type { WorkerNews, WorkerOptions, WorkerOrder } from './child-line.ts';
import { takeDetours } from './detour.ts';
import { drillStatements } from './drill-tables.ts';
import { JOURNAL_FD, type JournalWord } from './journal.ts';
import { importPg } from './pg-module.ts';
import { shiftClock } from './shift-clock.ts';
import { CONSUMER_SERVICE, DRILL_SERVICE, HANDLERS, runName, type Step, stepTaken } from './step.ts';

const clock = shiftClock();
const sleep = createSleep(systemEffects);
const CONNECTIONS = 10;
const RETRY_START_MS = 100;
const MEMORY_EVERY_MS = 1_000;
const DRAIN_MS = 5_000;
// Twice what a healthy server of a drill ever takes; a connection that has fallen silent is given up after it.
const ANSWER_MS = 4_000;
const POLICY = { maxAttempts: 50, baseDelayMs: 20, maxDelayMs: 200, jitter: 'none' } as const;

process.once('disconnect', () => process.exit(1));
process.once('message', (options) => void run(options as WorkerOptions));

function tell(news: WorkerNews): void {
  process.send?.(news);
}

function write(word: JournalWord, about: string): void {
  writeSync(JOURNAL_FD, `${word} ${about}\n`);
}

async function run(options: WorkerOptions): Promise<void> {
  takeDetours(options.detours);
  const { Pool } = await importPg(options.pg);
  // As every service should: the statements of handlers are theirs, and without a limit one on a connection that has fallen silent waits
  // until the attempt's time is up.
  const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS };
  const pool = new Pool({ connectionString: options.url, max: CONNECTIONS, ...limits });
  // Connections that are lost while idle are told here, and made anew.
  pool.on('error', () => undefined);
  const { broker, name, role, store } = options;
  const transport = broker && (await openTransport(broker));
  const hf = holdfast({
    service: role === 'consumer' ? CONSUMER_SERVICE : DRILL_SERVICE,
    store: postgres({ pool, schema: store, answerTimeoutMs: ANSWER_MS }),
    transport: transport && role === 'relay' ? journaled(transport) : transport,
  });
  if (role !== 'relay') handleSteps(hf, options);
  const start = (): Promise<RunningRelay> => hf.start({ name, leaseMs: options.leaseMs, observers: [observe] });
  const running = await startWhenUp(start);
  process.on('message', (order) => void obey(order as WorkerOrder, running));
  tell({ kind: 'ready' });
  for (;;) {
    tell({ kind: 'memory', rss: process.memoryUsage.rss() });
    await sleep(MEMORY_EVERY_MS);
  }
}

/** Registers both kinds of handlers. */
function handleSteps(hf: Holdfast<PoolClient>, { schema, name, workMs }: WorkerOptions): void {
  const [book, count] = HANDLERS;
  const { effect, isMended } = drillStatements(quotedSchema('drill', schema));
  const take = async (tx: PoolClient, handler: string, step: Step): Promise<void> => {
    if (step.kind === 'mended' && (await tx.query(isMended)).rows.length === 0)
      throw new TerminalHandlerError('not mended yet');
    await tx.query(effect, [handler, step.key, step.n, name]);
  };
  const handlerOptions = { onDead: 'pass', policy: POLICY } as const;
  hf.on(
    stepTaken,
    book,
    async (step, ctx) => {
      write('start', runName(book, step));
      refuse(step);
      await work(workMs, ctx.signal);
      // Some of the time passes inside, so that there is a middle of a transaction to be hit in.
      await ctx.commit(async (tx) => {
        await take(tx, book, step);
        await work(workMs, ctx.signal);
        failAtFirst(step, ctx.attempt);
      });
    },
    { ...handlerOptions, concurrency: CONNECTIONS },
  );
  hf.project(
    stepTaken,
    count,
    async (step, tx, ctx) => {
      write('start', runName(count, step));
      refuse(step);
      await take(tx, count, step);
      failAtFirst(step, ctx.attempt);
    },
    handlerOptions,
  );
}

/** Writes down what it publishes before and after, so that a relay can be killed between the two. */
function journaled(transport: Transport): Transport {
  return {
    ...transport,
    handlers: <Tx>(host: TransportHost) => {
      const { to, from } = transport.handlers<Tx>(host);
      const { handler } = to;
      if (handler.kind !== 'publish') return { to, from };
      const publish: Publish = async (items) => {
        const steps = items.map(({ delivery }) => JSON.parse(delivery.payload ?? '') as Step);
        for (const step of steps) write('start', runName(HANDLERS[0], step));
        try {
          return await handler.publish(items);
        } finally {
          for (const step of steps) write('done', runName(HANDLERS[0], step));
        }
      };
      return { to: { ...to, handler: { ...handler, publish } }, from };
    },
  };
}

/** As a process manager would: a worker that finds the server away is started again. */
async function startWhenUp(start: () => Promise<RunningRelay>): Promise<RunningRelay> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      tell({ kind: 'problem', problem: error instanceof Error ? error.message : String(error) });
      await sleep(RETRY_START_MS);
    }
  }
}

async function obey(order: WorkerOrder, running: RunningRelay): Promise<void> {
  if (order.do === 'jump') return clock.jump(order.byMs);
  await running.stop({ drainMs: DRAIN_MS });
  process.exit(0);
}

/** What the message is for, before any effect. */
function refuse({ kind }: Step): void {
  if (kind === 'poison') throw new TerminalHandlerError('poison');
}

/** After the effect, which must not stay. */
function failAtFirst({ kind, key, n }: Step, attempt: number): void {
  if (kind !== 'flaky' || attempt > 1) return;
  write('threw', `${key} ${n}`);
  throw new Error('one in a hundred fails');
}

function work([least, most]: readonly [number, number], signal: AbortSignal): Promise<void> {
  return sleep(least + systemEffects.random() * (most - least), signal);
}

function observe(told: Parameters<RelayObserver>[0]): void {
  if (
    told.kind !== 'run-done' &&
    told.kind !== 'run-failed' &&
    told.kind !== 'run-refused' &&
    told.kind !== 'run-interrupted'
  )
    return;
  if (!HANDLERS.some((handler) => handler === told.handler)) return;
  const word = told.kind === 'run-refused' ? 'refused' : told.kind === 'run-done' ? 'done' : 'ended';
  write(word, runName(told.handler, JSON.parse(told.delivery.payload ?? '') as Step));
}
