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

/**
 * How many deliveries of a line are on their way at once: a queue's and a flow-control key's as they are set, a destination's as it takes
 * them well. None has more than are left free: so there is always room for those of another, however many there are that do not answer.
 */
export class DeliveryLines implements Lines {
  readonly #host: LinesHost;
  readonly #listeners = new Set<(line: string) => void>();
  /** Lines that may not go on before this time, as their rate is used up. */
  readonly #restingUntilMs = new Map<string, number>();
  readonly #timers = new Set<unknown>();
  /** Lines that would have got more, had there been more room. */
  readonly #short = new Set<string>();
  readonly #ends: readonly (() => void)[];
  #active = 0;

  constructor(host: LinesHost) {
    this.#host = host;
    this.#ends = [
      host.settings.onChange((line) => this.#changed(line)),
      host.gates.onChange((destination) => this.#changed(`to:${destination}`)),
    ];
  }

  width(line: string): number {
    const own = this.#ownWidth(line);
    const free = Math.max(1, this.#host.slots - this.#active);
    if (own > free) this.#short.add(line);
    return Math.min(own, free);
  }

  /** A queue keeps its order, whatever happens; elsewhere one that fails holds up no other. */
  retryHolds(line: string): boolean {
    return line.startsWith('queue:');
  }

  onChange(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** One is on its way. Gives what must be called when it is not any more. */
  begin(): () => void {
    this.#active += 1;
    return () => {
      this.#active -= 1;
      if (this.#short.size === 0) return;
      const short = [...this.#short];
      this.#short.clear();
      for (const line of short) this.#changed(line);
    };
  }

  /** Nothing of this line is started for so long. */
  rest(line: string, ms: number): void {
    const { effects } = this.#host;
    const untilMs = effects.monoMs() + ms;
    if ((this.#restingUntilMs.get(line) ?? 0) >= untilMs) return;
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
    for (const timer of this.#timers) this.#host.effects.clearTimer(timer);
    this.#listeners.clear();
  }

  #ownWidth(line: string): number {
    const { settings, gates, effects, slots } = this.#host;
    const [kind, name] = splitLine(line);
    if (kind === 'to') return gates.width(name);
    if ((this.#restingUntilMs.get(line) ?? 0) > effects.monoMs()) return 0;
    const set = kind === 'queue' ? settings.queue(name) : settings.flow(name);
    // Not known yet: it may be narrow, or paused. It is told when it is.
    if (!set || set.isPaused) return 0;
    return Math.min(slots, set.parallelism ?? slots);
  }

  #changed(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }
}

function splitLine(line: string): readonly [kind: string, name: string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1)];
}
