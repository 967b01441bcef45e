export { command, type CommandDefinition, type CommandOptions, type OnExhausted } from './command.ts';
export type { CommandContext } from './command-context.ts';
export type {
  CommandError,
  CommandEvent,
  CommandOutcome,
  CommandRecord,
  ModuleRecord,
  RunRecord,
  StreamedCommandEvent,
} from './command-record.ts';
export { canMove, COMMAND_STATES, type CommandState, type NextState, TRANSITIONS } from './command-state.ts';
export type { CommandStore, EventPlaces, NewCommand, PutAnswer, StartedCommand } from './command-store.ts';
export {
  durableCommands,
  type DurableCommands,
  type DurableCommandsOptions,
  type SentCommand,
} from './durable-commands.ts';
export type { HandleCommand } from './run-command.ts';
export type { EventOptions } from './stream-events.ts';
export type { WaitOptions } from './wait-for.ts';
export type { Correlation } from '../kernel/log.ts';
export type { RunClaim } from '../relay/run.ts';
