import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, freshFolder, isListening, startPrivate, type RunningServer } from '../support/private-server.ts';
import type { BreakableBroker } from './breakable-broker.ts';
import { localRabbitmq, planRabbitmq, probeRabbitmq, type RabbitmqUser } from '../support/rabbitmq-server.ts';

const REGISTERED_WITHIN_MS = 60_000;

/** A RabbitMQ of a test file, which it may kill, hang and start again. */
export interface PrivateRabbitmq extends BreakableBroker {
  readonly url: string;
  urlOf(user: string): string;
  /** Waits until all its queues are registered on the disk, which takes seconds. */
  registered(): Promise<void>;
  /** Ends it at once, as a crash does, once its queues are registered. */
  kill(): Promise<void>;
  /** Ends it, and takes away what it kept. */
  remove(): Promise<void>;
}

/** One from the program of `needs('rabbitmqServer')`, not yet started. */
export async function privateRabbitmq(
  program: string,
  about: { readonly settings?: readonly string[]; readonly users?: readonly RabbitmqUser[] } = {},
): Promise<PrivateRabbitmq> {
  const data = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-rabbitmq-data-'));
  const ports = { port: await freePort(), distPort: await freePort(), epmdPort: await freePort() };
  const url = localRabbitmq(ports.port);
  // Erlang's port mapper goes on while the server is down, as it does on a real machine. It counts the starts of a node: without that,
  // processes after a restart can bear the names of those before it, and quorum queues take them for the same.
  let mapper: RunningServer | undefined;
  let running: RunningServer | undefined;
  let pid = 0;
  const signal = (name: NodeJS.Signals): void => {
    if (running) process.kill(pid, name);
  };
  const ended = async (): Promise<void> => {
    await running?.stop();
    running = undefined;
  };
  const node = `t${ports.port}@localhost`;
  const registered = (): Promise<void> => allRegistered(join(data, 'mnesia', node, 'quorum', node));
  return {
    url,
    urlOf: (user) => url.replace('guest:guest', `${user}:${user}`),
    start: async () => {
      mapper ??= await startMapper(ports.epmdPort);
      const folder = freshFolder('private-rabbitmq');
      running = await startPrivate({
        name: 'rabbitmq of a test',
        folder,
        ...planRabbitmq({ program, folder, data, ...ports, ...about }),
        after: [],
        probe: () => probeRabbitmq(url),
      });
      pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    },
    registered,
    kill: async () => {
      await registered();
      signal('SIGKILL');
      await ended();
    },
    hang: () => signal('SIGSTOP'),
    goOn: () => signal('SIGCONT'),
    remove: async () => {
      // One that hangs does not hear that it is to end.
      signal('SIGCONT');
      await ended();
      await mapper?.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/**
 * Waits until the register of quorum queues names each that has a folder. RabbitMQ 3.10 writes the register up to three seconds after a
 * queue was declared. One that is not in it when the server is killed comes back empty, without its folder, and never gets a leader.
 */
async function allRegistered(quorum: string): Promise<void> {
  const deadline = performance.now() + REGISTERED_WITHIN_MS;
  for (;;) {
    const folders = readdirSync(quorum, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const register = readFileSync(join(quorum, 'names.dets'), 'latin1');
    const missing = folders.filter(({ name }) => !register.includes(name));
    if (missing.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`RabbitMQ did not register ${missing.map(({ name }) => name).join(', ')}`);
    await sleep(20);
  }
}

function startMapper(port: number): Promise<RunningServer> {
  return startPrivate({
    name: 'epmd of a test',
    folder: freshFolder('epmd'),
    server: ['epmd', '-port', String(port), '-address', '127.0.0.1'],
    probe: async () => {
      if (!(await isListening(port))) throw new Error('nobody listens');
    },
  });
}
