import type { Correlation } from '../kernel/log.ts';
import type { DeliveryError } from '../relay/relay-store.ts';
import type { CommandState } from './command-state.ts';
import type { OnExhausted } from './command.ts';

/** The last failure of a command, as it is kept: no secrets, no stack. `PROCESS_LOST`: the process that ran it was lost. */
export type CommandError = Omit<DeliveryError, 'stack'>;

/** One command as it stands. */
export interface CommandRecord {
  /** Also the id of its message, for the operator's verbs and `holdfast why`. */
  readonly commandId: string;
  readonly service: string;
  readonly name: string;
  readonly target: string;
  readonly module: string;
  readonly idempotencyKey: string;
  readonly state: CommandState;
  readonly onExhausted: OnExhausted;
  /** The attempt under way, or the last one, from 1 in each cycle; 0 before the first. */
  readonly attempt: number;
  /** Ended attempts of this cycle. */
  readonly attempts: number;
  /** How often an operator has replayed it. */
  readonly replays: number;
  /** What its handler answered; absent until it is done. */
  readonly answer?: unknown;
  readonly error: CommandError | undefined;
  readonly correlation: Correlation;
  readonly createdAt: Date;
  /** When it was put in line, last. */
  readonly queuedAt: Date | undefined;
  /** When it was started, last. */
  readonly startedAt: Date | undefined;
  readonly updatedAt: Date;
  readonly doneAt: Date | undefined;
  /** An operator gave it up at this time: it will not run unless it is replayed. */
  readonly closedAt: Date | undefined;
}

/** One module of a run: where its newest command stands. */
export interface ModuleRecord {
  readonly module: string;
  readonly state: CommandState;
  readonly commandId: string;
  readonly idempotencyKey: string;
  readonly attempts: number;
  readonly error: CommandError | undefined;
  readonly closedAt: Date | undefined;
}

/** Everything that was asked of one target. */
export interface RunRecord {
  readonly target: string;
  /** In the order in which they were first asked for. */
  readonly modules: readonly ModuleRecord[];
  /** In the order in which they were made. */
  readonly commands: readonly CommandRecord[];
}

/** Something that happened to a command. Nothing is left out, and nothing comes twice. */
export interface CommandEvent {
  readonly commandId: string;
  /** From 1, without a gap for each command. */
  readonly n: number;
  readonly at: Date;
  /** `moved`: from one state to another · `closed`, `reopened`: an operator gave it up, or took that back. */
  readonly kind: 'moved' | 'closed' | 'reopened';
  readonly name: string;
  readonly target: string;
  readonly module: string;
  /** Absent at the first. */
  readonly from: CommandState | undefined;
  readonly to: CommandState;
  readonly attempt: number;
  readonly replays: number;
  readonly idempotencyKey: string;
  readonly error: CommandError | undefined;
  /** Who did it by hand; absent where the engine did. */
  readonly actor: string | undefined;
}

/** The same on its way to a reader. `cursor` as `after` goes on behind it. */
export type StreamedCommandEvent = CommandEvent & { readonly cursor: string };

/** What became of a command that was waited for. */
export type CommandOutcome =
  | { readonly kind: 'done'; readonly command: CommandRecord; readonly answer: unknown }
  | { readonly kind: 'blocked' | 'dlq'; readonly command: CommandRecord; readonly error: CommandError | undefined }
  | { /** An operator gave it up. */ readonly kind: 'closed'; readonly command: CommandRecord }
  | { /** Not there yet when the time was up. */ readonly kind: 'timeout'; readonly command: CommandRecord }
  | { readonly kind: 'not-found' };
