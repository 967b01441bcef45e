import type { Effects } from '../kernel/effects.ts';
import type { Lines } from '../relay/lines.ts';
import type { DestinationGates } from './destination-gates.ts';
import type { LineSettings } from './line-settings.ts';

/** What lines are made of. */
export interface LinesHost {
  readonly effects: Effects;
  readonly settings: Pick<LineSettings, 'queue' | 'flow' | 'onChange'>;
  readonly gates: Pick<DestinationGates, 'width' | 'onChange'>;
  /** How many deliveries may be on their way in this process. */
  readonly slots: number;
}

const TOLD_AT_ONCE = 4;
// Well below how long settings are followed that nobody asks for.
const LOOK_MS = 15_000;

/**
 * How many deliveries of a line are on their way at once: a queue's and a flow-control key's as they are set, a destination's as it takes
 * them well. Half of all places are for the first of a line alone: so lines that do not end, however wide, leave room for all others.
 */
export class DeliveryLines implements Lines {
  readonly #host: LinesHost;
  readonly #listeners = new Set<(line: string) => void>();
  /** Lines that may not go on before this time, as their rate is used up. */
  readonly #restingUntilMs = new Map<string, number>();
  readonly #timers = new Set<unknown>();
  /** Lines that would have got more, had there been more room. */
  readonly #short = new Set<string>();
  /** Lines that were told to stand still by their settings: who stands still does not ask again. */
  readonly #still = new Set<string>();
  #look: unknown;
  readonly #ends: readonly (() => void)[];
  /** Places that a line may have more than one of. */
  readonly #shared: number;
  /** As far as it is known here: asked for with each start, and counted down since. */
  #taken = 0;

  constructor(host: LinesHost) {
    this.#host = host;
    this.#shared = Math.ceil(host.slots / 2);
    this.#ends = [
      // What was used up may have been given anew.
      host.settings.onChange((line) => {
        this.#restingUntilMs.delete(line);
        this.#changed(line);
      }),
      host.gates.onChange((destination) => this.#changed(`to:${destination}`)),
    ];
  }

  width(line: string, taken: number): number {
    const own = this.#ownWidth(line);
    this.#taken = taken;
    if (own <= 1 || taken < this.#shared) return own;
    this.#short.add(line);
    return 1;
  }

  /** A queue keeps its order, whatever happens; elsewhere one that fails holds up no other. */
  retryHolds(line: string): boolean {
    return line.startsWith('queue:');
  }

  onChange(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One is not on its way any more: there may be room for those that had none. */
  ended(): void {
    this.#taken -= 1;
    if (this.#short.size === 0 || this.#taken >= this.#shared) return;
    // In turns, and a few at a time: one place has become free.
    for (const line of [...this.#short].slice(0, TOLD_AT_ONCE)) {
      this.#short.delete(line);
      this.#changed(line);
    }
  }

  /**
   * Nothing of this line is started for so long, or until its settings change. The shortest counts: of those that asked together, some
   * have their turn in the next period and others in one after it.
   */
  rest(line: string, ms: number): void {
    const { effects } = this.#host;
    const untilMs = effects.monoMs() + ms;
    if ((this.#restingUntilMs.get(line) ?? Infinity) <= untilMs) return;
    this.#restingUntilMs.set(line, untilMs);
    const timer = effects.setTimer(
      () => {
        this.#timers.delete(timer);
        if (this.#restingUntilMs.get(line) === untilMs) this.#restingUntilMs.delete(line);
        this.#changed(line);
      },
      Math.ceil(ms) + 1,
    );
    this.#timers.add(timer);
  }

  stop(): void {
    for (const end of this.#ends) end();
    for (const timer of [...this.#timers, this.#look]) this.#host.effects.clearTimer(timer);
    this.#listeners.clear();
  }

  #ownWidth(line: string): number {
    const { settings, gates, effects, slots } = this.#host;
    const [kind, name] = splitLine(line);
    if (kind === 'to') return gates.width(name);
    if ((this.#restingUntilMs.get(line) ?? 0) > effects.monoMs()) return 0;
    const set = kind === 'queue' ? settings.queue(name) : settings.flow(name);
    // Not known yet: it may be narrow, or paused.
    if (!set || set.isPaused) {
      this.#still.add(line);
      this.#look ??= effects.setTimer(() => this.#lookAgain(), LOOK_MS);
      return 0;
    }
    this.#still.delete(line);
    return Math.min(slots, set.parallelism ?? slots);
  }

  /** Settings are followed for as long as somebody asks for them, so somebody has to. */
  #lookAgain(): void {
    this.#look = undefined;
    const lines = [...this.#still];
    this.#still.clear();
    for (const line of lines) if (this.#ownWidth(line) > 0) this.#changed(line);
  }

  #changed(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }
}

function splitLine(line: string): readonly [kind: string, name: string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1)];
}
