import { spawn } from 'node:child_process';
import { mkdtempSync, chmodSync, readFileSync, realpathSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A server of our own. Everything is run by `guard.ts`, which ends it and removes `folder` as soon as we are gone. */
export interface PrivateServer {
  readonly name: string;
  /** A fresh folder of this server; made by `freshFolder`, removed at the end. */
  readonly folder: string;
  /** Commands to run before the server, in order. */
  readonly before?: readonly Command[];
  /** The server itself, in the foreground. Absent if a command in `before` leaves it running elsewhere. */
  readonly server?: Command;
  /** Commands to run after the server has ended. */
  readonly after?: readonly Command[];
  /** Asks the server to end quickly but cleanly. Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves once the server answers; rejects while it does not. */
  readonly probe: () => Promise<void>;
}

export type Command = readonly [program: string, ...args: string[]];

/** A running private server; `stop` resolves when it has ended and its folder is gone. */
export interface RunningServer {
  readonly stop: () => Promise<void>;
}

const GUARD = fileURLToPath(new URL('guard.ts', import.meta.url));
const READY_WITHIN_MS = 240_000;

/** Starts a private server and waits until it answers. */
export async function startPrivate(server: PrivateServer): Promise<RunningServer> {
  const { probe, ...plan } = server;
  // The guard's standard input is the life line: it closes when this process ends, even by SIGKILL. A session of its own
  // keeps the terminal's Ctrl-C away from it, so that it can still tidy up.
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(plan)], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  guard.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((resolve) => guard.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    guard.stdin?.end();
    await ended;
  };
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const answer = await Promise.race([probe().then(ready, notYet), ended.then(() => 'ended' as const)]);
    if (answer === 'ready') return { stop };
    if (answer === 'ended' || guard.exitCode !== null) throw new Error(`${server.name} did not start: ${said.trim()}`);
    if (performance.now() > deadline) {
      const log = tail(join(server.folder, 'server.log'));
      await stop();
      throw new Error(`${server.name} did not answer within ${READY_WITHIN_MS / 1000} s: ${log}`);
    }
    await sleep(50);
  }
}

/** A new folder that any user of the machine can enter (servers that refuse root run as somebody else). */
export function freshFolder(name: string): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), `holdfast-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** A port nobody listens on, outside the range from which the system gives ports to clients and to `listen(0)`. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await canBind(port)) return port;
  }
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** True if something accepts connections on that local port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1000 });
    const end = (found: boolean): void => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-10).join('\n');
  } catch {
    return 'it has written no log';
  }
}

const ready = (): 'ready' => 'ready';
const notYet = (): 'not yet' => 'not yet';
