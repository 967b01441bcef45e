import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { Checked, Injected } from './drill-report.ts';

/** Counts how often what was injected has hit. */
export interface Injection {
  /** Once more, or so many times more. */
  hit(times?: number): void;
}

/** What a drill does and sees. */
export interface DrillRun {
  /** Aborted when somebody stops the drills, or the time is up. */
  readonly signal: AbortSignal;
  /** Says that something is broken now. The drill does not count unless it hits. */
  inject(what: string): Injection;
  /** Compares, as JSON does. */
  check(what: string, expected: unknown, seen: unknown): void;
  /** For what is no plain comparison: `expected` is for people. */
  judge(what: string, outcome: { readonly expected: string; readonly seen: unknown; readonly held: boolean }): void;
  /**
   * Looks until it is as expected. After so long as drills wait, what was seen last goes into the ledger, and the drill ends there: what
   * follows builds on it.
   */
  until<T>(what: string, expected: T, look: () => Promise<T> | T): Promise<T>;
  /** Runs after the drill, however it ends, the last one first: puts right what was broken. */
  after(cleanUp: () => unknown): void;
}

/** How long and on which clock a drill looks. */
export interface LookOptions {
  readonly effects: Effects;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 50;

/** Ends a drill whose ledger says why. */
export class NotSeen extends Error {}

/** A drill under way: keeps its ledger. */
export class RunningDrill implements DrillRun {
  readonly signal: AbortSignal;
  readonly checked: Checked[] = [];
  readonly #options: LookOptions;
  readonly #injected: { readonly what: string; hits: number }[] = [];
  readonly #cleanUps: (() => unknown)[] = [];

  constructor(options: LookOptions) {
    this.#options = options;
    this.signal = options.signal;
  }

  get injected(): readonly Injected[] {
    return this.#injected.map(({ what, hits }) => ({ what, hits }));
  }

  inject(what: string): Injection {
    const entry = { what, hits: 0 };
    this.#injected.push(entry);
    return { hit: (times = 1) => void (entry.hits += times) };
  }

  check(what: string, expected: unknown, seen: unknown): void {
    this.checked.push({ what, expected: shown(expected), seen: shown(seen), held: json(expected) === json(seen) });
  }

  judge(what: string, { expected, seen, held }: { expected: string; seen: unknown; held: boolean }): void {
    this.checked.push({ what, expected, seen: shown(seen), held });
  }

  async until<T>(what: string, expected: T, look: () => Promise<T> | T): Promise<T> {
    const { effects, waitMs } = this.#options;
    const sleep = createSleep(effects);
    const endMs = effects.monoMs() + waitMs;
    for (;;) {
      this.signal.throwIfAborted();
      const seen = await look();
      const isSame = json(seen) === json(expected);
      const isLate = effects.monoMs() >= endMs;
      if (isSame || isLate) this.check(what, expected, seen);
      if (isSame) return seen;
      if (isLate) throw new NotSeen(`${what} did not come to be as expected`);
      await sleep(LOOK_EVERY_MS, this.signal);
    }
  }

  after(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp);
  }

  /** Puts everything right, the last first. Gives what went wrong with that. */
  async cleanUp(): Promise<readonly unknown[]> {
    const problems: unknown[] = [];
    for (let next = this.#cleanUps.pop(); next; next = this.#cleanUps.pop()) {
      try {
        await next();
      } catch (error) {
        problems.push(error);
      }
    }
    return problems;
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one !== 'object');
  return isList ? value.join(', ') : (json(value) ?? 'nothing');
}

/** The same text for the same things, in whichever order their fields are. */
function json(value: unknown): string | undefined {
  return JSON.stringify(value, (_, one: unknown) => {
    const isPlain = typeof one === 'object' && one !== null && !Array.isArray(one);
    return isPlain ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1))) : one;
  });
}
