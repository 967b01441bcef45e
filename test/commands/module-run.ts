import { z } from 'zod';
import { command, type CommandDefinition, type OnExhausted } from '../../src/commands/index.ts';
import { idempotencyKey } from '../../src/index.ts';

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
