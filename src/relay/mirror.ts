import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { RelayEvent } from './relay-event.ts';
import type { DeadLetter, Delivery, RelaySession } from './relay-store.ts';

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
 * letters: after a death by the next owner. The row stays the truth, and a copy that cannot be made holds up nothing: types of which
 * copies failed lately wait, the others go first.
 */
export class Mirror<Tx> {
  readonly #session: RelaySession<Tx>;
  readonly #dispatcher: Dispatcher<Tx>;
  readonly #effects: Effects;
  readonly #options: MirrorOptions;
  readonly #tell: (event: RelayEvent) => void;
  readonly #stopped = new AbortController();
  /** Types of which copies could not be made. */
  readonly #troubles = new Map<string, Trouble>();
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
        waitMs = waitAfter(failures);
        this.#tellFailed(error, failures);
      }
      if (waitMs > 0) await sleep(waitMs, signal).catch(() => undefined);
    }
  }

  /** How many it found of types that are no trouble. Rejects when it cannot be told which copies there are. */
  async #copySome(): Promise<number> {
    const units = [...this.#dispatcher.units.keys()].filter((unit) => {
      const name = this.#dispatcher.laneOf(unit)?.handler.name;
      return name !== undefined && this.#options.handlers.has(name);
    });
    if (units.length === 0) return 0;
    const letters = await this.#session.unmirrored(units, { limit: AT_ONCE, without: [...this.#troubles.keys()] });
    for (const { type } of (await this.#copy(letters)).left) this.#troubles.set(type, newTrouble(this.#effects));
    // The others go first; then those that failed lately, when they have waited.
    const nowMs = this.#effects.monoMs();
    for (const [type, trouble] of this.#troubles)
      if (trouble.dueMs <= nowMs) await this.#copyTroubled(units, type, trouble);
    return letters.length;
  }

  /**
   * Tries one type of which copies could not be made, a part of them at a time: what cannot be copied for what it is holds up none
   * behind it. When no one is left out in a whole turn, it is a type like any other.
   */
  async #copyTroubled(units: readonly number[], type: string, trouble: Trouble): Promise<void> {
    const { after } = trouble;
    const letters = await this.#session.unmirrored(units, { limit: AT_ONCE, type, ...(after && { after }) });
    const { done, left } = await this.#copy(letters);
    trouble.isOfTurn ||= left.length > 0;
    const isEnd = letters.length < AT_ONCE;
    if (isEnd && !trouble.isOfTurn) return void this.#troubles.delete(type);
    if (isEnd) trouble.isOfTurn = false;
    trouble.after = isEnd ? undefined : letters.at(-1)?.delivery;
    trouble.failures = done.length > 0 ? 1 : trouble.failures + 1;
    trouble.dueMs = this.#effects.monoMs() + (left.length > 0 ? waitAfter(trouble.failures) : 0);
  }

  async #copy(
    letters: readonly DeadLetter[],
  ): Promise<{ readonly done: readonly DeadLetter[]; readonly left: readonly Delivery[] }> {
    if (letters.length === 0) return { done: [], left: [] };
    const { done, error } = await this.#options.copy(letters);
    // Before the others are tried again: or every try would copy these once more.
    if (done.length > 0) await this.#session.mirrored(done.map(({ delivery }) => delivery));
    const copied = new Set(done);
    const left = letters.filter((letter) => !copied.has(letter)).map(({ delivery }) => delivery);
    const [first] = left;
    if (first) this.#tellFailed(error, (this.#troubles.get(first.type)?.failures ?? 0) + 1);
    return { done, left };
  }

  #tellFailed(error: unknown, failures: number): void {
    this.#tell({ kind: 'transport-failed', transport: this.#options.transport, during: 'mirror', error, failures });
  }
}

/** A type of which copies could not be made. */
interface Trouble {
  failures: number;
  /** When it is tried again. */
  dueMs: number;
  /** The last one that was tried in this turn; nothing: the turn begins. */
  after: Pick<Delivery, 'unit' | 'seq'> | undefined;
  /** One of this turn could not be copied. */
  isOfTurn: boolean;
}

function newTrouble(effects: Effects): Trouble {
  return { failures: 1, dueMs: effects.monoMs() + waitAfter(1), after: undefined, isOfTurn: false };
}

function waitAfter(failures: number): number {
  return Math.min(LOOK_MS * 2 ** (failures - 1), LONGEST_WAIT_MS);
}
