import type { PoolClient } from 'pg';
import { type CommandEvent, type DurableCommands, durableCommands } from '../../src/commands/index.ts';
import type { Operator } from '../../src/operator/index.ts';
import { postgresCommands, postgresOperator, type SqlTransaction } from '../../src/postgres/index.ts';
import { type TestService, testService } from '../relay/service.ts';
import type { TestServer } from '../support/needs.ts';
import type { ModuleRun, moduleRun } from './module-run.ts';

/** A service with commands on a schema of its own. */
export interface CommandService extends TestService {
  readonly commands: DurableCommands<PoolClient, SqlTransaction>;
  readonly operator: Operator;
  /** Sends in a transaction of its own. */
  send(definition: ReturnType<typeof moduleRun>, run: ModuleRun): Promise<string>;
  /** What has happened to a command so far: `queued running:1 done:1`, with the code of an error behind a `!`. */
  story(commandId: string): Promise<string>;
  eventsOf(commandId: string): Promise<CommandEvent[]>;
}

export async function commandService(server: TestServer): Promise<CommandService> {
  const here = await testService(server);
  const { hf, pool, schema } = here;
  const store = postgresCommands({ pool, schema });
  const commands = durableCommands({ holdfast: hf, store });
  const eventsOf = async (commandId: string): Promise<CommandEvent[]> => {
    const target = (await commands.get(commandId))?.target ?? '';
    const events = await store.events(hf.service, target, new Map(), 10_000);
    return events.filter((event) => event.commandId === commandId);
  };
  return {
    ...here,
    commands,
    operator: postgresOperator({ pool, schema }),
    send: async (definition, run) =>
      here.inTransaction(async (tx) => (await commands.send(tx, definition, run, { requestId: 'r-1' })).commandId),
    eventsOf,
    story: async (commandId) => (await eventsOf(commandId)).map(told).join(' '),
  };
}

function told({ kind, to, attempt, error }: CommandEvent): string {
  const step = kind === 'moved' ? to : kind;
  return `${step}${attempt === 0 ? '' : `:${attempt}`}${error ? `!${error.code ?? error.message}` : ''}`;
}
