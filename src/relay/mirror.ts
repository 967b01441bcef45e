import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { RelayEvent } from './relay-event.ts';
import type { DeadLetter, RelaySession } from './relay-store.ts';

/** Makes copies of dead letters somewhere else. */
export interface MirrorOptions {
  /** Whose dead letters, by the names of handlers. */
  readonly handlers: ReadonlySet<string>;
  /** What the copies are told under when they fail. */
  readonly transport: string;
  readonly copy: (letters: readonly DeadLetter[]) => Promise<Copied>;
}

/** What became of copies. */
export interface Copied {
  /** Those that need no further copy. */
  readonly done: readonly DeadLetter[];
  /** Why there is none of one of the others. */
  readonly error?: unknown;
}

const AT_ONCE = 100;
const LOOK_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Makes a copy of every dead letter of some handlers, at least once for each time it died. Whoever owns a unit copies its dead
 * letters: after a death by the next owner. The row stays the truth, and a copy that cannot be made holds up nothing.
 */
export class Mirror<Tx> {
  readonly #session: RelaySession<Tx>;
  readonly #dispatcher: Dispatcher<Tx>;
  readonly #effects: Effects;
  readonly #options: MirrorOptions;
  readonly #tell: (event: RelayEvent) => void;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    parts: {
      readonly session: RelaySession<Tx>;
      readonly effects: Effects;
      readonly tell: (event: RelayEvent) => void;
    },
    dispatcher: Dispatcher<Tx>,
    options: MirrorOptions,
  ) {
    this.#session = parts.session;
    this.#effects = parts.effects;
    this.#tell = parts.tell;
    this.#dispatcher = dispatcher;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const sleep = createSleep(this.#effects);
    for (let failures = 0; !signal.aborted;) {
      let waitMs = LOOK_MS;
      try {
        waitMs = (await this.#copySome()) < AT_ONCE ? LOOK_MS : 0;
        failures = 0;
      } catch (error) {
        failures++;
        waitMs = Math.min(LOOK_MS * 2 ** (failures - 1), LONGEST_WAIT_MS);
        this.#tell({ kind: 'transport-failed', transport: this.#options.transport, during: 'mirror', error, failures });
      }
      if (waitMs > 0) await sleep(waitMs, signal).catch(() => undefined);
    }
  }

  /** How many it found. */
  async #copySome(): Promise<number> {
    const units = [...this.#dispatcher.units.keys()].filter((unit) => {
      const name = this.#dispatcher.laneOf(unit)?.handler.name;
      return name !== undefined && this.#options.handlers.has(name);
    });
    if (units.length === 0) return 0;
    const letters = await this.#session.unmirrored(units, AT_ONCE);
    if (letters.length === 0) return 0;
    const { done, error } = await this.#options.copy(letters);
    // Before the others are tried again: or every try would copy these once more.
    if (done.length > 0) await this.#session.mirrored(done.map(({ delivery }) => delivery));
    if (done.length < letters.length) throw error;
    return letters.length;
  }
}
