import type { PoolClient } from 'pg';
import { z } from 'zod';
import {
  command,
  type CommandDefinition,
  type CommandEvent,
  type DurableCommands,
  durableCommands,
  type OnExhausted,
} from '../../src/commands/index.ts';
import { idempotencyKey } from '../../src/index.ts';
import type { Operator } from '../../src/operator/index.ts';
import { postgresCommands, postgresOperator, type SqlTransaction } from '../../src/postgres/index.ts';
import { type TestService, testService } from '../relay/service.ts';
import type { TestServer } from '../support/needs.ts';

const Payload = z.object({ runId: z.string(), moduleId: z.string(), version: z.string().default('v1') });

/** A module of a workflow run, as it is asked for. */
export type ModuleRun = z.input<typeof Payload>;

/** A command that is retried at once, `attempts` times in all. */
export function moduleRun(
  onExhausted: OnExhausted = 'dlq',
  attempts = 2,
  name = 'module.run',
): CommandDefinition<ModuleRun, z.output<typeof Payload>> {
  return command(name, {
    schema: Payload,
    target: (run) => run.runId,
    module: (run) => run.moduleId,
    key: ({ runId, moduleId, version = 'v1' }) =>
      idempotencyKey({ domain: 'workflow', userId: 'u1', entityId: runId, operation: `module:${moduleId}`, version }),
    onExhausted,
    policy: { maxAttempts: attempts, baseDelayMs: 10, maxDelayMs: 10 },
  });
}

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
