import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { holdfast, outgoing } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import type { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { TestServer } from '../support/needs.ts';
import { effectTable } from './effect-table.ts';
import { OUTAGE_SERVICE, type OutageProcessOptions, outageStep, type OutageStep } from './outage-process.ts';
import { openTransport, type StormBroker } from './storm-transport.ts';

/** A broker, and how it is made to answer nothing. */
export interface OutageOptions {
  readonly postgres: TestServer;
  readonly broker: StormBroker;
  readonly server: { hang(): unknown; goOn(): void };
}

/** What was measured: times in milliseconds, memory in megabytes. */
export interface OutageReport {
  readonly messages: number;
  readonly hungMs: number;
  readonly failures: number;
  readonly drainedMs: number;
  readonly heap: Readonly<Record<'before' | 'allSent' | 'atEnd' | 'after', number>>;
  readonly rss: Readonly<Record<'before' | 'allSent' | 'atEnd' | 'after', number>>;
}

const PROGRAM = fileURLToPath(new URL('outage-process.ts', import.meta.url));
const MEGABYTE = 1_048_576;
const KEYS = 50;
const BATCH = 500;
/** More than three times as many as a process reads ahead; HOLDFAST_OUTAGE_MESSAGES and HOLDFAST_OUTAGE_MS make a longer outage. */
const MESSAGES = Number(process.env['HOLDFAST_OUTAGE_MESSAGES'] ?? 15_000);
const AT_LEAST_MS = Number(process.env['HOLDFAST_OUTAGE_MS'] ?? 0);
/** What each message carries. If all that waits were in memory, it would be seen. */
const FILLING = 'x'.repeat(4_000);
/** A process reads ahead 4,096 messages, which are there in several forms: 27 to 29 MB were seen. All of a backlog would be 57 and more. */
const MOST_MB = (3 * 4_096 * FILLING.length) / MEGABYTE;

/**
 * Lets a broker fall silent while messages are sent, for as long as it takes until publishing and reading were both given up, and then
 * go on. Nothing may be lost or twice, keys keep their order, and memory does not grow with what waits.
 */
export async function outage({ postgres: { url, namespace }, broker, server }: OutageOptions): Promise<OutageReport> {
  const schema = `${namespace}_outage_${broker.kind}`;
  const client = await effectTable(url, schema);
  const hf = holdfast({
    service: OUTAGE_SERVICE,
    store: postgres({ schema }),
    transport: await openTransport(broker),
  });
  const send = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += BATCH) {
      await client.query('begin');
      const steps = stepsOf(at, Math.min(at + BATCH, to)).map((step) => outgoing(outageStep, step));
      await hf.sendAll(client, steps);
      await client.query('commit');
    }
  };
  const member = await startMember({ url, schema, broker });
  await send(0, BATCH);
  await effects(client, schema, BATCH);
  const samples: Record<string, Memory> = { before: await member.memory() };
  const hungAtMs = performance.now();
  await server.hang();
  await send(BATCH, BATCH + MESSAGES);
  await member.until('failed publish', 1);
  await member.until('failed consume', 1);
  samples['allSent'] = await member.memory();
  await passed(Math.max(0, AT_LEAST_MS - (performance.now() - hungAtMs)));
  samples['atEnd'] = await member.memory();
  const hungMs = performance.now() - hungAtMs;
  server.goOn();
  const wentOnMs = performance.now();
  await effects(client, schema, BATCH + MESSAGES);
  const drainedMs = performance.now() - wentOnMs;
  samples['after'] = await member.memory();
  await judge(client, schema);
  const failures = member.count('failed publish') + member.count('failed consume');
  const all = samples as Record<keyof OutageReport['heap'], Memory>;
  const [heap, rss] = [inMegabytes(all, 'heap'), inMegabytes(all, 'rss')];
  expect(heap.allSent - heap.before, 'what the backlog took').toBeLessThan(MOST_MB);
  expect(heap.atEnd - heap.before, 'what the time took').toBeLessThan(MOST_MB);
  expect(heap.after - heap.before, 'what is left when all are handled').toBeLessThan(MOST_MB);
  return { messages: MESSAGES, hungMs: Math.round(hungMs), failures, drainedMs: Math.round(drainedMs), heap, rss };
}

function stepsOf(from: number, to: number): readonly OutageStep[] {
  return Array.from({ length: to - from }, (_, at) => {
    const place = from + at;
    return { key: `k${place % KEYS}`, n: Math.floor(place / KEYS), filling: FILLING };
  });
}

async function effects(client: Client, schema: string, count: number): Promise<void> {
  const found = async (): Promise<number> => {
    const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${schema}.effect`);
    return rows[0]?.n ?? 0;
  };
  await expect.poll(found, { timeout: 240_000, interval: 100 }).toBeGreaterThanOrEqual(count);
}

/** Nothing lost, nothing twice, in order, and nothing left or dead. The table has no unique key. */
async function judge(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ id: string; n: number }>(`select id, n from ${schema}.effect order by place`);
  const found = Map.groupBy(rows, ({ id }) => id);
  for (const [key, ofKey] of Map.groupBy(stepsOf(0, BATCH + MESSAGES), ({ key: name }) => name))
    expect(
      found.get(key)?.map(({ n }) => n),
      key,
    ).toEqual(ofKey.map(({ n }) => n));
  const open = await client.query(`select 1 from ${schema}.delivery where attempts > 0 or state = 2`);
  expect(open.rows).toEqual([]);
}

interface Memory {
  readonly heap: number;
  readonly rss: number;
}

function inMegabytes<Name extends string>(of: Record<Name, Memory>, what: keyof Memory): Record<Name, number> {
  const pairs = Object.entries<Memory>(of).map(([name, memory]) => [name, Math.round(memory[what] / MEGABYTE)]);
  return Object.fromEntries(pairs) as Record<Name, number>;
}

interface Member {
  memory(): Promise<Memory>;
  count(word: string): number;
  until(word: string, more: number): Promise<void>;
}

async function startMember(options: OutageProcessOptions): Promise<Member> {
  const child: ChildProcess = spawn(process.execPath, ['--expose-gc', PROGRAM, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const said: string[] = [];
  const ready = Promise.withResolvers<void>();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    said.push(line);
    if (line === 'ready') ready.resolve();
  });
  child.once('exit', () => ready.reject(new Error('it ended before it was ready')));
  await ready.promise;
  const linesOf = (word: string): readonly string[] => said.filter((line) => line.startsWith(word));
  return {
    memory: async () => {
      const before = linesOf('memory').length;
      child.stdin?.write('memory\n');
      await expect.poll(() => linesOf('memory').length, { timeout: 60_000 }).toBe(before + 1);
      const [, heap, rss] = (linesOf('memory').at(-1) ?? '').split(' ');
      return { heap: Number(heap), rss: Number(rss) };
    },
    count: (word) => linesOf(word).length,
    until: async (word, times) => {
      await expect.poll(() => linesOf(word).length, { timeout: 120_000, interval: 50 }).toBeGreaterThanOrEqual(times);
    },
  };
}
