import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BreakableBroker } from './breakable-broker.ts';
import { localNats, planNats, probeNats } from '../support/nats-server.ts';
import { freePort, freshFolder, type RunningServer, startPrivate } from '../support/private-server.ts';

/** A NATS of a test file, which it may kill, hang and start again. */
export interface PrivateNats extends BreakableBroker {
  readonly url: string;
  readonly port: number;
  /** Ends it, and takes away what it kept. */
  remove(): Promise<void>;
}

/** One from the program of `needs('natsServer')`, not yet started. */
export async function privateNats(program: string, settings: readonly string[] = []): Promise<PrivateNats> {
  const data = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-nats-data-'));
  const port = await freePort();
  const url = localNats(port);
  let running: RunningServer | undefined;
  let pid = 0;
  const signal = (name: NodeJS.Signals): void => {
    if (running) process.kill(pid, name);
  };
  const ended = async (): Promise<void> => {
    await running?.stop();
    running = undefined;
  };
  return {
    url,
    port,
    start: async () => {
      const folder = freshFolder('private-nats');
      const plan = planNats({ program, folder, data, port, settings });
      running = await startPrivate({ name: 'nats of a test', folder, ...plan, probe: () => probeNats(url) });
      pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    },
    kill: async () => {
      signal('SIGKILL');
      await ended();
    },
    hang: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
    remove: async () => {
      // One that hangs does not hear that it is to end.
      signal('SIGCONT');
      await ended();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
