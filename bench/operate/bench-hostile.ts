import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { migrate } from 'holdfast/postgres';
import { type BenchDatabase, poolOn } from '../engine/bench-database.ts';
import { contestantOf } from '../result/contestant.ts';
import { judgeValue } from '../result/judge.ts';
import { quantile } from '../result/quantile.ts';
import type { Contestant, Result } from '../result/result.ts';
import { type Api, startApi } from './api-client.ts';

const CONNECTIONS = 200;
const ROUNDS_PER_ROUND = 50;
const GOAL_MS = 100;
const MOST_GROWTH_MB = 128;

/** How long `healthz` takes while 200 connections pipeline, drip and never read, and what the process grows by. */
export async function benchHostile({ url }: BenchDatabase, rounds: number): Promise<Result[]> {
  const pool = poolOn(url, 2);
  const client = await pool.connect();
  await migrate(client);
  client.release();
  await pool.end();
  const api = await startApi(url);
  const sockets: Socket[] = [];
  try {
    // A process that has just begun grows by being used at all.
    await healthTimes(api, 1_500);
    const usual = await healthTimes(api, rounds * ROUNDS_PER_ROUND);
    const before = residentMb(api.pid);
    const requests = await hostileRequests(api);
    for (let i = 0; i < CONNECTIONS; i++) sockets.push(hostile(api.port, requests[i % requests.length] ?? ''));
    const hostileTimes = await healthTimes(api, rounds * ROUNDS_PER_ROUND);
    const growth = Math.max(0, residentMb(api.pid) - before);
    const [p95] = [quantile(hostileTimes, 0.95)];
    return [
      {
        id: 'hostile.healthz',
        measure: `healthz under ${CONNECTIONS} hostile connections`,
        contestants: [...timesOf('hostile', 'ours', hostileTimes), ...timesOf('without them', 'usual', usual)],
        verdicts: [judgeValue(p95, '<', GOAL_MS, 'ms', 'p95')],
      },
      {
        id: 'hostile.memory',
        measure: 'memory that they make the process grow by',
        contestants: [contestantOf({ name: 'growth', role: 'ours', unit: 'MB', rounds: [growth] })],
        verdicts: [judgeValue(growth, '<', MOST_GROWTH_MB, 'MB')],
      },
    ];
  } finally {
    for (const socket of sockets) socket.destroy();
    api.close();
  }
}

function timesOf(name: string, role: 'ours' | 'usual', times: readonly number[]): Contestant[] {
  return [0.5, 0.95, 0.99].map((share) =>
    contestantOf({ name: `${name}, p${share * 100}`, role, unit: 'ms', rounds: [quantile(times, share)] }),
  );
}

async function healthTimes({ port }: Api, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
    times.push(performance.now() - before);
  }
  return times;
}

/** The largest file 900 times and 10 times, a head and a body without an end, live events. */
async function hostileRequests({ port, token }: Api): Promise<readonly string[]> {
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const file = /assets\/index-[\w-]+\.js/.exec(page)?.[0] ?? '';
  const asset = `GET /${file} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
  return [
    asset.repeat(900),
    asset.repeat(10),
    'GET /healthz HTTP/1.1\r\nx-slow: ',
    'POST /api/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{',
    `GET /api/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`,
  ];
}

/** Says it, and never reads. */
function hostile(port: number, text: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

function residentMb(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}
