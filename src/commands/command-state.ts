/**
 * Where a command may go from each state. The database refuses every other step, whoever asks: this table is written into the
 * migration, and the drawing in docs/commands.md has its steps.
 */
export const TRANSITIONS = {
  idle: ['queued'],
  queued: ['running'],
  running: ['done', 'retry_wait', 'blocked', 'dlq'],
  retry_wait: ['running'],
  done: [],
  blocked: ['queued'],
  dlq: ['replaying'],
  replaying: ['running'],
} as const;

/**
 * `idle`: known, not asked for yet · `queued`: stands in the line of its target · `running` · `retry_wait`: failed, waits for its
 * next attempt · `done`, with an answer · `blocked`: failed for good, and later commands of its target wait · `dlq`: failed for
 * good, the others go on · `replaying`: replayed, and not running again yet.
 */
export type CommandState = keyof typeof TRANSITIONS;

/** Where a command may go from `From`. */
export type NextState<From extends CommandState> = (typeof TRANSITIONS)[From][number];

/** Every state. */
export const COMMAND_STATES: readonly CommandState[] = Object.keys(TRANSITIONS) as CommandState[];

/** The states in which a command begins. */
export const FIRST_STATES: readonly CommandState[] = ['idle', 'queued'];

/** True if a command may go from one state to the other. */
export function canMove<From extends CommandState>(from: From, to: CommandState): to is NextState<From> {
  return (TRANSITIONS[from] as readonly CommandState[]).includes(to);
}
