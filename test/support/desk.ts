import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startPrivate, type RunningServer } from './private-server.ts';
import type { TestRun } from './service.ts';
import { SERVICES, type ServiceName } from './services/index.ts';

/** What a test is told about a service. */
export type Answer = { readonly url: string } | { readonly missing: string };

export interface Desk {
  /** Where test files ask, whatever process they run in. */
  readonly url: string;
  /** Stops every server that was started here. */
  readonly close: () => Promise<void>;
}

/**
 * The one place of a run that finds and starts servers: only when the first test asks for one, and once for all of
 * them. It lives in vitest's main process, the tests in workers, so they talk by HTTP.
 */
export async function openDesk(announce: (line: string) => void): Promise<Desk> {
  const running: RunningServer[] = [];
  const run: TestRun = {
    env: process.env,
    announce,
    start: async (server) => {
      const beganMs = performance.now();
      running.push(await startPrivate(server));
      announce(`${server.name} was ready after ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
    },
  };
  const answers = new Map<ServiceName, Promise<Answer>>();
  const answerFor = (name: ServiceName): Promise<Answer> => {
    const known = answers.get(name) ?? ask(name, run);
    answers.set(name, known);
    return known;
  };
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) as ServiceName;
    void answerFor(name).then((answer) => response.end(JSON.stringify(answer)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await Promise.all(answers.values());
      await Promise.all(running.map((one) => one.stop()));
    },
  };
}

async function ask(name: ServiceName, run: TestRun): Promise<Answer> {
  try {
    return { url: await SERVICES[name].obtain(run) };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}
