import type { CommandRecord, ModuleRecord, RunRecord } from './command-record.ts';

/** A target with its modules, from its commands in the order in which they were made; nothing when there are none. Pure. */
export function runOf(target: string, commands: readonly CommandRecord[]): RunRecord | undefined {
  if (commands.length === 0) return undefined;
  const modules = new Map<string, ModuleRecord>();
  for (const { module, state, commandId, idempotencyKey, attempts, error, closedAt } of commands) {
    modules.set(module, { module, state, commandId, idempotencyKey, attempts, error, closedAt });
  }
  return { target, modules: [...modules.values()], commands };
}
