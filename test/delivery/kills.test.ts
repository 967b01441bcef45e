import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { PublishRequest } from '../../src/delivery/publishing.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { postgresDelivery } from '../../src/postgres/index.ts';
import { forExpress, type JobHandler, qstash, signedJobs } from '../../src/webhooks/index.ts';
import { amount } from '../support/amount.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import type { DeliveringOptions } from './delivering-process.ts';

const PROGRAM = fileURLToPath(new URL('delivering-process.ts', import.meta.url));
const SECRET = 'a secret of more than 32 characters';

interface Server {
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
}

/** Servers in processes of their own; in place of one that is killed another is started. */
class Servers {
  readonly #options: DeliveringOptions;
  readonly #servers: Server[] = [];

  constructor(options: DeliveringOptions) {
    this.#options = options;
    onTestFinished(async () => {
      await Promise.all(this.#servers.map(({ child }) => ended(child)));
    });
  }

  start(): void {
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(this.#options)], { stdio: [...stdio] });
    this.#servers.push({ child, ready: once(createInterface({ input: child.stdout }), 'line') });
  }

  /** Kills the one that has lived the longest. */
  async killOne(): Promise<void> {
    const server = this.#servers.shift();
    await server?.ready;
    this.start();
    if (server) await ended(server.child);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return String(Buffer.concat(chunks));
}

interface Job {
  readonly name: string;
}

/** A destination that can keep everybody waiting. Jobs come in by `receive`, callbacks beside it. */
class Destination {
  /** Of each message the first time, in this order. */
  readonly first: string[] = [];
  readonly ids = new Map<string, string>();
  readonly effects: string[] = [];
  /** By message and attempt: the ids of the messages that told of it. */
  readonly callbacks = new Map<string, Set<string>>();
  /** Whoever asked was gone before it was answered. */
  cut = 0;
  open = 0;
  #held: (() => void)[] | undefined;
  #url = '';

  static async start(keys: { readonly current: string; readonly next: string }): Promise<Destination> {
    const destination = new Destination();
    const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
    const receive = signedJobs({ idempotency: idem, scheme: qstash({ currentKey: keys.current, nextKey: keys.next }) });
    const handler: JobHandler<Job, never> = ({ name }) => void destination.effects.push(name);
    const listener = forExpress(receive<Job>({ name: 'job' }, handler));
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { url = '', headers } = request;
      const id = String(headers['upstash-message-id']);
      await destination.#turn();
      if (url === '/callback') {
        destination.#called(await textOf(request), id);
        response.end();
      } else if (url.endsWith('/fails') && headers['upstash-retried'] === '0') response.writeHead(500).end();
      else {
        destination.#seen(url, id);
        listener(request, response);
      }
    };
    const server = createServer((request, response) => {
      destination.#arrived(response);
      void answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    destination.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return destination;
  }

  get url(): string {
    return this.#url;
  }

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) go();
  }

  #arrived(response: ServerResponse): void {
    this.open += 1;
    response.on('close', () => {
      this.open -= 1;
      if (!response.writableFinished) this.cut += 1;
    });
  }

  async #turn(): Promise<void> {
    const held = this.#held;
    if (held) await new Promise<void>((go) => held.push(go));
  }

  #seen(path: string, id: string): void {
    const known = this.ids.get(path);
    if (known === undefined) this.first.push(path);
    // Another id would be another message: duplicates have the same.
    expect(known ?? id).toBe(id);
    this.ids.set(path, id);
  }

  #called(body: string, id: string): void {
    const { sourceMessageId, retried } = JSON.parse(body) as { sourceMessageId: string; retried: number };
    const key = `${sourceMessageId} ${retried}`;
    this.callbacks.set(key, (this.callbacks.get(key) ?? new Set()).add(id));
  }
}

needs('postgres')(
  'servers are killed with deliveries on their way: nothing is lost, and what is received twice is done once [X.8]',
  { timeout: 600_000 },
  async ({ postgres }) => {
    const schema = await freshSchema(postgres);
    const pool = new Pool({ connectionString: postgres.url, max: 4 });
    onTestFinished(() => pool.end());
    const { publishing, signingKeys } = postgresDelivery({ pool, schema, secret: SECRET });
    const destination = await Destination.start(await signingKeys.get());
    const servers = new Servers({ url: postgres.url, schema, secret: SECRET, leaseMs: 500 });
    servers.start();
    servers.start();
    const kills = amount(4, 30);
    const ids: string[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const cutBefore = destination.cut;
      destination.hold();
      const outcomes = await publishing.publish(batch(destination.url, kill));
      for (const outcome of outcomes)
        if (outcome.kind === 'published') ids.push(...outcome.messages.map((one) => one.messageId));
      // Some of what is on its way is of the one that is killed; else the other is killed too.
      for (;;) {
        await expect.poll(() => destination.open).toBeGreaterThan(0);
        await servers.killOne();
        if (destination.cut > cutBefore) break;
      }
      destination.release();
    }
    const names = Array.from({ length: kills }, (_, kill) => paths(kill)).flat();
    await expect.poll(() => names.filter((name) => !destination.effects.includes(name))).toEqual([]);
    const left = async (): Promise<unknown> => (await pool.query(`select * from "${schema}".delivery`)).rows;
    await expect.poll(left).toEqual([]);
    // Each once, although they came more often than that.
    expect(destination.effects.toSorted()).toEqual(names.toSorted());
    expect(destination.cut).toBeGreaterThanOrEqual(kills);
    expect(new Set(destination.ids.values())).toEqual(new Set(ids));
    const inQueue = destination.first.filter((path) => path.startsWith('/queue/'));
    expect(inQueue).toEqual(names.filter((path) => path.startsWith('/queue/')));
    const told = [...destination.callbacks.values()].map((messages) => messages.size);
    expect(told).toEqual(Array.from({ length: kills * 2 * 2 }, () => 1));
  },
);

const FAST = 12;

function paths(kill: number): readonly string[] {
  const plain = Array.from({ length: FAST }, (_, i) => `/fast/${kill}/${i}`);
  return [...plain, `/told/${kill}/a/fails`, `/told/${kill}/b/fails`, `/queue/${kill}/a`, `/queue/${kill}/b`];
}

/** Some go straight, some fail at first and tell of each attempt, some stand in a queue. */
function batch(url: string, kill: number): readonly PublishRequest[] {
  const callback = { method: 'POST', retries: 5, headers: {}, url: `${url}/callback` } as const;
  return paths(kill).map((path) => ({
    to: { kind: 'url', url: `${url}${path}` },
    delivery: {
      method: 'POST',
      headers: { 'Content-Type': ['application/json'] },
      retries: 5,
      retryDelay: '10',
      body: JSON.stringify({ name: path }),
      ...(path.startsWith('/told/') && { callback }),
      ...(path.startsWith('/queue/') && { queue: 'one' }),
    },
  }));
}
