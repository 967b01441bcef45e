import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'undici';
import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { redisVersion } from '../redis-version.ts';
import { contestantOf } from '../result/contestant.ts';
import { perSecond } from '../result/format.ts';
import { judge } from '../result/judge.ts';
import type { Result, Role } from '../result/result.ts';
import type { Topic } from '../topic.ts';
import type { Guard } from './server-process.ts';

const SERVER = fileURLToPath(new URL('server-process.ts', import.meta.url));
const CONNECTIONS = 16;
const FRAMEWORKS = {
  Fastify: ['none', 'holdfast', '@node-idempotency/core'],
  Express: ['none', 'holdfast', '@node-idempotency/core', 'express-idempotency'],
} as const satisfies Record<string, readonly Guard[]>;

interface Contestant {
  readonly guard: Guard;
  readonly child: ChildProcess;
  readonly clients: readonly Client[];
  /** Requests a second, by round. */
  readonly first: number[];
  readonly replay: number[];
}

/**
 * `npm run bench -- idempotency [--quick] [--json]`: requests a second of a small route behind our middleware, behind those of others
 * and behind none, on one Redis in one run. express-idempotency keeps its records in the memory of the process.
 */
export const IDEMPOTENCY: Topic = {
  name: 'idempotency',
  title: 'Idempotency keys',
  measures: Object.keys(FRAMEWORKS).map((name) => name.toLowerCase()),
  options: [],
  minutes: { full: 2, quick: 1 },
  packages: ['@node-idempotency/core', 'express-idempotency', 'fastify', 'express', 'redis'],
  async run({ measures, isQuick, say }) {
    // express-idempotency looks through all it has for each request, so a run of ten thousands would measure nothing but that.
    const [requests, rounds] = isQuick ? [200, 2] : [3_000, 5];
    const started: RunningServer[] = [];
    const start = async (server: Parameters<typeof startPrivate>[0]): Promise<void> =>
      void started.push(await startPrivate(server));
    const results: Result[] = [];
    try {
      const redisUrl = await SERVICES.redis.obtain({ env: process.env, announce: say, start });
      for (const [framework, guards] of Object.entries(FRAMEWORKS)) {
        if (measures.length > 0 && !measures.includes(framework.toLowerCase())) continue;
        say(framework);
        results.push(...(await compare({ framework, guards, redisUrl, requests, rounds, say })));
      }
      const redis = await redisVersion(redisUrl);
      return { settings: { Redis: redis, requests, rounds, connections: CONNECTIONS }, results };
    } finally {
      for (const server of started) await server.stop();
    }
  },
};

interface Comparison {
  readonly framework: string;
  readonly guards: readonly Guard[];
  readonly redisUrl: string;
  readonly requests: number;
  readonly rounds: number;
  readonly say: (line: string) => void;
}

async function compare({ framework, guards, redisUrl, requests, rounds, say }: Comparison): Promise<Result[]> {
  const contestants = await Promise.all(guards.map((guard) => open(framework, guard, redisUrl)));
  try {
    // In turning order, so that a noisy machine favours nobody; the first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (let i = 0; i < contestants.length; i++) {
        const contestant = contestants[(i + round) % contestants.length];
        if (contestant === undefined) continue;
        const keys = Array.from({ length: requests }, () => randomUUID());
        const [first, replay] = [await rate(contestant, keys), await rate(contestant, keys)];
        const name = round === 0 ? 'warm-up' : `round ${round}`;
        say(`  ${name}: ${contestant.guard} ${perSecond(first)} first, ${perSecond(replay)} again`);
        if (round > 0) {
          contestant.first.push(first);
          contestant.replay.push(replay);
        }
      }
    }
    return [resultOf(framework, 'first', contestants), resultOf(framework, 'replay', contestants)];
  } finally {
    for (const { child, clients } of contestants) {
      await Promise.all(clients.map((client) => client.destroy()));
      child.kill();
    }
  }
}

async function open(framework: string, guard: Guard, redisUrl: string): Promise<Contestant> {
  const child = spawn(process.execPath, [SERVER, framework, guard, redisUrl], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  if (child.stdout === null) throw new Error('a child without output');
  for await (const line of createInterface({ input: child.stdout })) {
    const clients = Array.from({ length: CONNECTIONS }, () => new Client(`http://127.0.0.1:${line}`));
    return { guard, child, clients, first: [], replay: [] };
  }
  throw new Error(`the server of ${framework} with ${guard} did not start`);
}

async function rate({ clients }: Contestant, keys: readonly string[]): Promise<number> {
  let next = 0;
  const startedMs = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      for (let key = keys[next++]; key !== undefined; key = keys[next++]) {
        const headers = { 'content-type': 'application/json', 'idempotency-key': key };
        const { statusCode, body } = await client.request({
          method: 'POST',
          path: '/orders',
          headers,
          body: '{"item":"pen"}',
        });
        await body.text();
        if (statusCode !== 201) throw new Error(`answered ${statusCode}`);
      }
    }),
  );
  return (keys.length / (performance.now() - startedMs)) * 1_000;
}

const ROLES: Readonly<Record<Guard, Role>> = {
  holdfast: 'ours',
  none: 'bare',
  '@node-idempotency/core': 'peer',
  'express-idempotency': 'peer',
};

function resultOf(framework: string, what: 'first' | 'replay', all: readonly Contestant[]): Result {
  const contestants = all
    .map((one) => {
      const name = one.guard === 'none' ? 'no guard' : one.guard;
      return contestantOf({ name, role: ROLES[one.guard], rounds: one[what] });
    })
    .toSorted((a, b) => Number(b.role === 'ours') - Number(a.role === 'ours'));
  const [ours, ...others] = contestants;
  if (ours === undefined) throw new Error('nobody was measured');
  const of = (role: Role): typeof others => others.filter((one) => one.role === role);
  return {
    id: `${framework.toLowerCase()}.${what}`,
    measure: `${framework} + Redis, ${what === 'first' ? 'each key for the first time' : 'each key again'}`,
    contestants,
    verdicts: [judge(ours, of('peer'), 1), judge(ours, of('bare'), 0.6)],
  };
}
