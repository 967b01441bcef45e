import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { localMongodb, mongodCommand, probeMongodb, withMongodb } from '../support/mongodb-server.ts';
import { freePort, freshFolder, type RunningServer, startPrivate } from '../support/private-server.ts';

/** A MongoDB of one test, which it may kill, hang and start again. */
export interface PrivateMongodb {
  readonly url: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and with what it had written. */
  start(): Promise<void>;
  /** It accepts connections and answers nothing, until it goes on. */
  hang(): void;
  goOn(): void;
}

/** Starts one from the program of `needs('mongod')`: a replica set of one, or a single server. It ends with the test. */
export async function privateMongodb(
  program: string,
  options: { readonly isAlone?: boolean } = {},
): Promise<PrivateMongodb> {
  const port = await freePort();
  const url = localMongodb(port);
  const data = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-mongodb-data-'));
  let running: RunningServer | undefined;
  let pid = 0;
  const start = async (): Promise<void> => {
    const folder = freshFolder('private-mongodb');
    const server = mongodCommand(program, data, port, options);
    const probe = (): Promise<void> => (options.isAlone ? answers(url) : probeMongodb(url));
    running = await startPrivate({ name: 'mongodb of a test', folder, server, probe });
    pid = await pidOf(url);
  };
  const signal = (name: NodeJS.Signals): void => {
    if (running) process.kill(pid, name);
  };
  const ended = async (): Promise<void> => {
    await running?.stop();
    running = undefined;
  };
  await start();
  onTestFinished(async () => {
    // One that hangs does not hear that it is to end.
    signal('SIGCONT');
    await ended();
    rmSync(data, { recursive: true, force: true });
  });
  return {
    url,
    start,
    kill: async () => {
      signal('SIGKILL');
      await ended();
    },
    hang: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
  };
}

function answers(url: string): Promise<void> {
  return withMongodb(url, async (client) => void (await client.db('admin').command({ ping: 1 })));
}

function pidOf(url: string): Promise<number> {
  return withMongodb(url, async (client) => Number((await client.db('admin').command({ serverStatus: 1 }))['pid']));
}
