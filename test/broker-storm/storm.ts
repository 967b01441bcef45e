import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { holdfast, outgoing } from 'holdfast';
import { postgres, postgresOperator } from 'holdfast/postgres';
import { type Client, Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { TcpProxy } from '../../src/chaos/tcp-proxy.ts';
import { amount } from '../support/amount.ts';
import type { TestServer } from '../support/needs.ts';
import { effectTable } from './effect-table.ts';
import type { MemberOptions } from './member-process.ts';
import { STORM_SERVICE, stormStep, type StormStep } from './storm-event.ts';
import { openTransport, type StormBroker } from './storm-transport.ts';

/** A broker that a storm may treat badly. */
interface StormServer {
  readonly proxy: TcpProxy;
  kill(): Promise<void>;
  /** On what it had written. */
  start(): Promise<void>;
  hang(): unknown;
  goOn(): void;
}

/** What a storm is made of. */
export interface StormOptions {
  readonly postgres: TestServer;
  readonly broker: StormBroker;
  readonly server: StormServer;
  readonly messages: number;
  readonly members: number;
  /** How often the broker is killed, and how often it hangs, at most: some need long to come back. */
  readonly hardTroubles: number;
}

/** How often each kind of trouble hit. Every one of them is put in; what chance made besides is in it too. */
export interface StormLedger {
  readonly membersKilled: number;
  readonly brokerKilled: number;
  readonly brokerHung: number;
  readonly connectionsCut: number;
  readonly connectionsSilenced: number;
  readonly handlersFailed: number;
  /** Messages that came more than once. */
  readonly duplicatesLeftOut: number;
  readonly poison: number;
}

const MEMBER = fileURLToPath(new URL('member-process.ts', import.meta.url));
const LEASE_MS = 3_000;
const KEYS = 120;
/** After each part of the messages one trouble is made. */
const BATCH: number = amount(150, 250);
/** So many are published once more when all is done. */
const AGAIN = 20;

/** Sends, makes trouble, waits until everything is done, and looks at what is there. The effect table has no unique key. */
export async function storm(options: StormOptions): Promise<StormLedger> {
  const schema = `${options.postgres.namespace}_storm_${options.broker.kind}`;
  const client = await effectTable(options.postgres.url, schema);
  const steps = stepsOf(options.messages);
  const crew = new StormCrew({ url: options.postgres.url, schema, broker: options.broker, leaseMs: LEASE_MS });
  for (let n = 0; n < options.members; n++) await crew.hire();
  const trouble = { membersKilled: 0, brokerKilled: 0, brokerHung: 0, connectionsCut: 0, connectionsSilenced: 0 };
  const troubles = troublesOf(options, crew, trouble);
  const hf = holdfast({
    service: STORM_SERVICE,
    store: postgres({ schema }),
    // The sender publishes nothing: it only has to know the way.
    transport: await openTransport(options.broker),
  });
  const ids: string[] = [];
  for (let at = 0; at < steps.length; at += BATCH) {
    await client.query('begin');
    const sent = await hf.sendAll(
      client,
      steps.slice(at, at + BATCH).map((step) => outgoing(stormStep, step)),
    );
    await client.query('commit');
    ids.push(...sent.map(({ id }) => id));
    await troubles[Math.floor(at / BATCH) % troubles.length]?.();
  }
  const wanted = steps.filter(({ isPoison }) => !isPoison).length;
  const done = (): Promise<number> => numberOf(client, `select count(*)::int as n from ${schema}.effect`);
  await expect.poll(done, { timeout: 240_000, interval: 200 }).toBeGreaterThanOrEqual(wanted);
  await publishAgain(client, options, schema, ids.slice(0, AGAIN));
  await crew.stop();
  await judge(client, schema, steps);
  return {
    ...trouble,
    handlersFailed: crew.count('failed on purpose'),
    duplicatesLeftOut: await numberOf(client, `select count(*)::int as n from ${schema}.inbox where times > 1`),
    poison: steps.length - wanted,
  };
}

/** Sends them to the broker once more under the ids they had, and waits until all have come again. */
async function publishAgain(
  client: Client,
  { postgres: { url }, broker }: StormOptions,
  schema: string,
  ids: readonly string[],
): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 2 });
  const operator = postgresOperator({ pool, schema });
  const open = `select count(*)::int as n from ${schema}.delivery where state <> 2`;
  await expect.poll(() => numberOf(client, open), { timeout: 240_000, interval: 100 }).toBe(0);
  for (const id of ids) {
    const answer = await operator.replay(id, { actor: 'ann' }, { handlers: [`to-${broker.kind}`], rerun: true });
    expect(answer).toMatchObject({ kind: 'replayed' });
  }
  await pool.end();
  const cameAgain = `select count(*)::int as n from ${schema}.inbox where times > 1 and id = any($1::uuid[])`;
  await expect.poll(() => numberOf(client, cameAgain, [ids]), { timeout: 240_000, interval: 100 }).toBe(ids.length);
}

async function numberOf(client: Client, query: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await client.query<{ n: number }>(query, [...values]);
  return rows[0]?.n ?? 0;
}

/** Few keys have much, most have little; one in two hundred is poison, and one in a hundred fails at first. */
function stepsOf(count: number): readonly StormStep[] {
  const next = new Map<string, number>();
  return Array.from({ length: count }, (_, at) => {
    const key = `k${Math.floor(KEYS * Math.random() ** 3)}`;
    const n = next.get(key) ?? 0;
    next.set(key, n + 1);
    return { key, n, isPoison: at % 200 === 77, isHard: at % 100 === 33 };
  });
}

function troublesOf(
  { server, hardTroubles }: Pick<StormOptions, 'server' | 'hardTroubles'>,
  crew: StormCrew,
  count: {
    -readonly [
      Name in 'membersKilled' | 'brokerKilled' | 'brokerHung' | 'connectionsCut' | 'connectionsSilenced'
    ]: number;
  },
): readonly (() => Promise<void>)[] {
  let silences = 0;
  const kill = async (): Promise<void> => {
    await crew.killOne();
    count.membersKilled++;
    await crew.hire();
  };
  return [
    kill,
    async () => void (count.connectionsCut += server.proxy.cut()),
    kill,
    async () => {
      if (count.brokerKilled >= hardTroubles) return;
      await server.kill();
      count.brokerKilled++;
      await passed(500);
      await server.start();
    },
    kill,
    async () => {
      if (count.brokerHung >= hardTroubles) return;
      await server.hang();
      count.brokerHung++;
      await passed(1_500);
      server.goOn();
    },
    kill,
    async () => {
      // It takes a member ten seconds to doubt such a connection: twice is enough.
      if (silences++ < 2) count.connectionsSilenced += server.proxy.fallSilent();
    },
  ];
}

/** Nothing lost, nothing twice, in order, and dead exactly what is poison. */
async function judge(client: Client, schema: string, steps: readonly StormStep[]): Promise<void> {
  const { rows } = await client.query<{ id: string; n: number }>(`select id, n from ${schema}.effect order by place`);
  const found = Map.groupBy(rows, ({ id }) => id);
  for (const [key, ofKey] of Map.groupBy(steps, ({ key: name }) => name)) {
    const expected = ofKey.filter(({ isPoison }) => !isPoison).map(({ n }) => n);
    expect(found.get(key)?.map(({ n }) => n) ?? [], `the effects of ${key}, in their order`).toEqual(expected);
  }
  const dead = await client.query<{ key: string; n: number }>(
    `select key, (payload ->> 'n')::int as n from ${schema}.delivery where state = 2 order by key, n`,
  );
  expect(new Set(dead.rows.map(nameOf))).toEqual(new Set(steps.filter(({ isPoison }) => isPoison).map(nameOf)));
  expect(dead.rows.length).toBe(steps.filter(({ isPoison }) => isPoison).length);
}

function nameOf({ key, n }: Pick<StormStep, 'key' | 'n'>): string {
  return `${key} ${n}`;
}

/** The processes of the service. */
class StormCrew {
  readonly #options: MemberOptions;
  readonly #alive = new Set<ChildProcess>();
  readonly #said = new Map<string, number>();

  constructor(options: MemberOptions) {
    this.#options = options;
    onTestFinished(() => {
      for (const child of this.#alive) child.kill('SIGKILL');
    });
  }

  async hire(): Promise<void> {
    const child = spawn(process.execPath, [MEMBER, JSON.stringify(this.#options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#alive.add(child);
    const ready = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') return ready.resolve();
      this.#said.set(line, (this.#said.get(line) ?? 0) + 1);
    });
    child.once('exit', () => ready.reject(new Error('a member ended before it was ready')));
    await ready.promise;
  }

  async killOne(): Promise<void> {
    const [first] = this.#alive;
    if (!first) return;
    this.#alive.delete(first);
    first.kill('SIGKILL');
    await once(first, 'exit');
  }

  async stop(): Promise<void> {
    const ended = [...this.#alive].map((child) => once(child, 'exit'));
    for (const child of this.#alive) child.kill('SIGTERM');
    await Promise.all(ended);
    this.#alive.clear();
  }

  count(word: string): number {
    return this.#said.get(word) ?? 0;
  }
}
