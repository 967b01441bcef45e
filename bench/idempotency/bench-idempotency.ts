import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { type RunningServer, startPrivate } from '../../test/support/private-server.ts';
import { SERVICES } from '../../test/support/services/index.ts';
import { type Finding, listRates, median, perSecond, renderTable } from '../engine/finding.ts';
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
 * and behind none, on one Redis in one run. express-idempotency keeps its records in the memory of the process. Gives the exit
 * code: 1 when a goal is missed.
 */
export async function benchIdempotency(args: readonly string[]): Promise<number> {
  const options = { quick: { type: 'boolean' }, json: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  // express-idempotency looks through all it has for each request, so a run of ten thousands would measure nothing but that.
  const [requests, rounds] = values.quick === true ? [1_000, 2] : [3_000, 5];
  const started: RunningServer[] = [];
  const start = async (server: Parameters<typeof startPrivate>[0]): Promise<void> =>
    void started.push(await startPrivate(server));
  const redisUrl = await SERVICES.redis.obtain({ env: process.env, announce: (line) => console.error(line), start });
  const machine = { node: process.version, cores: availableParallelism(), requests, rounds, connections: CONNECTIONS };
  console.error(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  const findings: Finding[] = [];
  try {
    for (const [framework, guards] of Object.entries(FRAMEWORKS)) {
      console.error(framework);
      findings.push(...(await compare(framework, guards, redisUrl, requests, rounds)));
    }
  } finally {
    for (const server of started) await server.stop();
  }
  console.log(
    values.json === true ? JSON.stringify({ machine, findings }, undefined, 2) : `\n${renderTable(findings)}`,
  );
  return findings.some(({ isReached }) => isReached === false) ? 1 : 0;
}

async function compare(
  framework: string,
  guards: readonly Guard[],
  redisUrl: string,
  requests: number,
  rounds: number,
): Promise<Finding[]> {
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
        console.error(`  ${name}: ${contestant.guard} ${perSecond(first)} first, ${perSecond(replay)} again`);
        if (round > 0) {
          contestant.first.push(first);
          contestant.replay.push(replay);
        }
      }
    }
    return [judge(framework, 'first', contestants), judge(framework, 'replay', contestants)].flat();
  } finally {
    for (const { child, clients } of contestants) {
      await Promise.all(clients.map((client) => client.destroy()));
      child.kill();
    }
  }
}

async function open(framework: string, guard: Guard, redisUrl: string): Promise<Contestant> {
  const child = spawn(process.execPath, [SERVER, framework, guard, redisUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
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

function judge(framework: string, what: 'first' | 'replay', contestants: readonly Contestant[]): Finding[] {
  const rates = new Map(contestants.map((contestant) => [contestant.guard, median(contestant[what])]));
  const [bare = Number.NaN, ours = Number.NaN] = [rates.get('none'), rates.get('holdfast')];
  const peers = new Map([...rates].filter(([guard]) => guard !== 'none' && guard !== 'holdfast'));
  const toPeers = ours / Math.max(...peers.values());
  const measure = `${framework} + Redis, ${what === 'first' ? 'each key for the first time' : 'each key again'}`;
  return [
    {
      measure,
      ours: perSecond(ours),
      others: listRates(peers),
      ratio: toPeers,
      goal: 'faster than every peer',
      isReached: toPeers > 1,
    },
    {
      measure,
      ours: perSecond(ours),
      others: `no guard ${perSecond(bare)}`,
      ratio: ours / bare,
      goal: '≥ 0.6',
      isReached: ours / bare >= 0.6,
    },
  ];
}
