import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');

const SERVER = fileURLToPath(new URL('ledger-server.ts', import.meta.url));
const CLIENT = fileURLToPath(new URL('ledger-client.ts', import.meta.url));
const WRITES: number = amount(1_000, 10_000);

/** A server that is started again whenever it dies. */
class Supervised {
  readonly port: number;
  kills = 0;
  #child: ChildProcess | undefined;
  #isStopped = false;
  readonly #args: readonly string[];

  constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [SERVER, ...this.#args, String(this.port), String(this.kills)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    child.once('exit', () => {
      if (this.#isStopped) return;
      this.kills++;
      void this.start();
    });
    await once(createInterface({ input: child.stdout }), 'line');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const ended = this.#child && once(this.#child, 'exit');
    this.#child?.kill('SIGKILL');
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function runClient(args: readonly string[]): Promise<{ readonly tries: number; readonly replays: number }> {
  const child = spawn(process.execPath, [CLIENT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout }))
    return JSON.parse(line) as { tries: number; replays: number };
  throw new Error('the client said nothing');
}

test(
  'of thousands of writes with faults in one of a hundred, each takes effect exactly once [S1.12] [X.15]',
  { timeout: 600_000 },
  async ({ postgres }) => {
    const { url, namespace: schema } = postgres;
    const admin = new Client({ connectionString: url });
    await admin.connect();
    onTestFinished(() => admin.end());
    await migrate(admin, { schema });
    await admin.query(`create table ${schema}.effect (line text not null)`);
    const servers = await Promise.all([1, 2].map(async () => new Supervised(await freePort(), [url, schema])));
    onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))));
    await Promise.all(servers.map((server) => server.start()));
    const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
    const told = await Promise.all(['a', 'b'].map((name) => runClient([name, String(WRITES / 2), ...urls])));
    const { rows } = await admin.query<{ lines: string; effects: string }>(
      `select count(distinct line)::text lines, count(*)::text effects from ${schema}.effect`,
    );
    expect(rows).toEqual([{ lines: String(WRITES), effects: String(WRITES) }]);
    // Otherwise nothing was put to the test.
    const kills = servers.reduce((sum, server) => sum + server.kills, 0);
    const replays = told.reduce((sum, client) => sum + client.replays, 0);
    const tries = told.reduce((sum, client) => sum + client.tries, 0);
    expect(kills).toBeGreaterThanOrEqual(servers.length);
    expect(replays).toBeGreaterThanOrEqual(WRITES / 50);
    expect(tries).toBeGreaterThan(WRITES);
  },
);
