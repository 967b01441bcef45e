import { BreakerGate, type BreakerHost } from './breaker-gate.ts';
import type { BreakerSettings } from './breaker.ts';
import type { BreakerSight } from './relay-store.ts';

/** The breakers of one process, by name. Handlers that name the same dependency share one. */
export class Breakers {
  readonly #host: BreakerHost;
  readonly #gates = new Map<string, BreakerGate>();

  constructor(host: BreakerHost) {
    this.#host = host;
  }

  of(settings: BreakerSettings | undefined): BreakerGate | undefined {
    if (!settings) return undefined;
    const gate = this.#gates.get(settings.name) ?? new BreakerGate(this.#host, settings);
    this.#gates.set(settings.name, gate);
    return gate;
  }

  /** What the database says of them. */
  see(sights: readonly BreakerSight[]): void {
    for (const sight of sights) this.#gates.get(sight.name)?.see(sight);
  }

  stop(): void {
    for (const gate of this.#gates.values()) gate.stop();
  }
}
