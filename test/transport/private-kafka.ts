import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { halt } from '../support/halt.ts';
import { createTopics, planKafka, probeKafka } from '../support/kafka-server.ts';
import { type Command, freePort, freshFolder, type RunningServer, startPrivate } from '../support/private-server.ts';

/** A Kafka of a test file, which it may kill, hang and start again. */
export interface PrivateKafka {
  /** `host:port`, and the same after each start. */
  readonly url: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it, on the same port and with what it had written. */
  start(): Promise<void>;
  /** It accepts connections and answers nothing, until it goes on. */
  hang(): Promise<void>;
  goOn(): void;
  createTopics(...topics: string[]): Promise<void>;
  /** Ends it, and takes away what it kept. */
  remove(): Promise<void>;
}

/** Makes one from the jars of `needs('kafkaJars')`; it is not started yet. */
export async function privateKafka(
  jars: string,
  at: { readonly port?: number; readonly advertisedPort?: number } = {},
): Promise<PrivateKafka> {
  const port = at.port ?? (await freePort());
  const url = `127.0.0.1:${port}`;
  const data = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-kafka-data-'));
  const { format, run } = await planKafka(jars, data, port, at.advertisedPort);
  const pidFile = join(data, 'pid');
  const server: Command = ['sh', '-c', 'echo $$ > "$0"; exec "$@"', pidFile, ...run];
  let running: RunningServer | undefined;
  let isFormatted = false;
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(Number(readFileSync(pidFile, 'utf8')), name);
    } catch {
      // It has ended already, or was never started.
    }
  };
  const stop = async (): Promise<void> => {
    // Neither does one that hangs hear that it is to end, nor is there a need to wait until one has tidied up.
    signal('SIGKILL');
    await running?.stop();
    running = undefined;
  };
  return {
    url,
    kill: stop,
    start: async () => {
      const before = isFormatted ? [] : [format];
      isFormatted = true;
      const folder = freshFolder('private-kafka');
      running = await startPrivate({ name: 'kafka of a test', folder, before, server, probe: () => probeKafka(url) });
    },
    hang: () => halt(Number(readFileSync(pidFile, 'utf8'))),
    goOn: () => signal('SIGCONT'),
    createTopics: (...topics) => createTopics(url, topics),
    remove: async () => {
      await stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
