import type { Correlation } from '../kernel/log.ts';
import type { NewMessage } from '../outbox/outbox-store.ts';
import type { RunClaim } from '../relay/run.ts';
import type { CommandEvent, CommandRecord } from './command-record.ts';
import type { CommandState } from './command-state.ts';
import type { OnExhausted } from './command.ts';

/** A command as it is handed to a store: complete and checked. The message has its id, its service, its key and its payload. */
export interface NewCommand {
  readonly message: NewMessage;
  readonly name: string;
  readonly target: string;
  readonly module: string;
  readonly idempotencyKey: string;
  readonly onExhausted: OnExhausted;
  readonly correlation: Correlation;
}

/** What became of a command that was put. */
export type PutAnswer =
  | { readonly kind: 'known'; readonly commandId: string; readonly state: CommandState; readonly isNew: boolean }
  | {
      /** The key stands for something else that was asked. */ readonly kind: 'other-request';
      readonly commandId: string;
    };

/** What a run is told when it starts. */
export interface StartedCommand {
  readonly target: string;
  readonly module: string;
  /** With `-e1` behind it after the first edit of its payload, and so on: what is asked of others then is not the same any more. */
  readonly idempotencyKey: string;
  readonly correlation: Correlation;
}

/** How far the reader of a target's events has come: the last `n` of each command. */
export type EventPlaces = ReadonlyMap<string, number>;

/** Where commands and what happened to them are kept. `Tx` is what its clients call a transaction. */
export interface CommandStore<Tx> {
  /**
   * Writes a command in the caller's transaction, as `queued` with its message, or as `idle` without. One that is known by its key
   * stays as it is; an idle one is queued. Throws `OUTBOX_FULL` before anything is written.
   */
  put(tx: Tx, command: NewCommand, to: 'idle' | 'queued'): Promise<PutAnswer>;
  /**
   * Writes that it runs, in a commit of its own. `taken`: the claim does not hold any more, and nothing was written. `unknown`: the
   * service has no such command.
   */
  start(service: string, commandId: string, claim: RunClaim): Promise<StartedCommand | 'taken' | 'unknown'>;
  /**
   * Writes its answer, JSON text, in the transaction in which its message is finished. `taken`: it does not run. `ended`: this is not
   * the transaction any more.
   */
  finish(tx: unknown, service: string, commandId: string, answer: string): Promise<'done' | 'taken' | 'ended'>;
  find(service: string, by: { readonly id: string } | { readonly key: string }): Promise<CommandRecord | undefined>;
  /** The commands of a target, in the order in which they were made; without a service, of all. */
  ofTarget(service: string | undefined, target: string): Promise<readonly CommandRecord[]>;
  /** Events of a target behind these places: of each command in the order of `n`, without a gap. At most `limit`. */
  events(
    service: string | undefined,
    target: string,
    after: EventPlaces,
    limit: number,
  ): Promise<readonly CommandEvent[]>;
}
