import { exponential, idempotencyKey, policy } from 'holdfast';
import { command, type CommandDefinition } from 'holdfast/commands';
import { z } from 'zod';

/** The modules of a workflow run, in the order in which people usually run them. */
export const MODULES = ['interview', 'plan', 'document'] as const;

export type ModuleId = (typeof MODULES)[number];

const Id = z.string().min(1).max(80);

/** What is asked of a workflow run: to run one of its modules. */
export const RunModule = z.object({
  runId: Id,
  moduleId: z.enum(MODULES),
  userId: Id,
  orgId: Id.optional(),
  missionId: Id,
  missionInstanceId: Id,
  /** Another version is another command: the module runs once more. */
  version: Id,
});

export type RunModule = z.infer<typeof RunModule>;

/** How a module ends that cannot be run: `blocked` holds up the others of its run, `dlq` does not. */
const ON_EXHAUSTED = { interview: 'blocked', plan: 'dlq', document: 'dlq' } as const;

/** The command. Modules of one run never overlap; `speed` is how many times shorter than real waits are. */
export function runModuleCommand(speed: number): CommandDefinition<RunModule> {
  return command('module.run', {
    schema: RunModule,
    target: ({ runId }) => runId,
    module: ({ moduleId }) => moduleId,
    key: ({ userId, runId, moduleId, version }) =>
      idempotencyKey({ domain: 'workflow', userId, entityId: runId, operation: `module:${moduleId}`, version }),
    onExhausted: ({ moduleId }) => ON_EXHAUSTED[moduleId],
    policy: policy({
      maxAttempts: 3,
      schedule: exponential({ baseMs: 2_000 / speed, maxMs: 60_000 / speed }),
      timeoutMs: 300_000,
    }),
  });
}
