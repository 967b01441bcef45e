import type { Effects } from '../kernel/effects.ts';
import type { RelayEvent } from './relay-event.ts';
import type { RelaySession } from './relay-store.ts';
import type { RunWrapper } from './run-wrapper.ts';

/** What a dispatcher works with. */
export interface DispatcherOptions<Tx> {
  readonly session: RelaySession<Tx>;
  readonly effects: Effects;
  readonly tell: (event: RelayEvent) => void;
  readonly wrapRun: RunWrapper | undefined;
  /** The worker's id at this moment; it changes when the worker was buried and joins again. */
  readonly workerId: () => string;
  /** A unit is to be loaded. */
  readonly onLoad: () => void;
  /** A unit has little left to start. */
  readonly onRoom: () => void;
  /** A row becomes due after this long. */
  readonly onDueIn: (ms: number) => void;
  /** A result was refused: find out whether this worker still lives. */
  readonly onDoubt: () => void;
  /** A unit that is to leave may be given back. */
  readonly onQuiet: () => void;
}
