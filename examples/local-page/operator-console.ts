import type { RequestListener } from 'node:http';
import type { Deliveries } from 'holdfast/delivery';
import type { Operator } from 'holdfast/operator';
import { operatorServer } from 'holdfast/server';
import type { BoardTable } from './board-state.ts';

/** The operator console of an example, mounted below its page. */
export interface MountedConsole {
  /** Such as `/console/`. */
  readonly path: string;
  readonly listener: RequestListener;
  readonly close: () => Promise<void>;
}

/** The console at a path such as `/console/`, for the person at this machine. */
export function mountConsole(operator: Operator, path: string, deliveries?: Deliveries): MountedConsole {
  const server = operatorServer({
    operator,
    deliveries,
    basePath: path.slice(0, -1),
    localOnly: true,
    localActor: 'you',
  });
  return { path, listener: (request, response) => server.listener(request, response), close: () => server.close() };
}

const SHOWN = 8;

/** The newest dead letters of a service, each with the way to its message in the console. */
export async function deadLetterTable(operator: Operator, service: string, consolePath: string): Promise<BoardTable> {
  const { items } = await operator.deadLetters({ service, limit: SHOWN });
  return {
    title: `Dead letters of ${service}`,
    columns: ['Handler', 'Why', 'Attempts', 'Message'],
    rows: items.map(({ handler, error, attempts, messageId, type }) => [
      handler,
      { text: `${error?.name ?? ''}: ${error?.message ?? 'no error was stored'}`, tone: 'failed' },
      attempts,
      { text: type, href: `${consolePath}messages/${messageId}` },
    ]),
    empty: 'None. A message that fails permanently is shown here; it can be replayed in place.',
  };
}
