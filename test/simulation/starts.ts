import type { RelayEvent } from '../../src/relay/relay-event.ts';

/** How often runs were started, as the relays of a schedule tell. */
export class Starts {
  readonly #all = new Map<string, number>();
  readonly #inVain = new Map<string, { readonly counters: string; starts: number; most: number }>();

  readonly observe = (event: RelayEvent): void => {
    if (event.kind !== 'run-started') return;
    const { id, attempts, cycle, rerun, version, starts, faults } = event.delivery;
    const name = `${event.handler}/${id}`;
    this.#all.set(name, this.of(name) + 1);
    const counters = [cycle, rerun, version, attempts, starts, faults?.count ?? 0].join();
    const before = this.#inVain.get(name);
    const same = before?.counters === counters ? before.starts + 1 : 1;
    this.#inVain.set(name, { counters, starts: same, most: Math.max(before?.most ?? 0, same) });
  };

  /** By `handler/id`. */
  of(name: string): number {
    return this.#all.get(name) ?? 0;
  }

  /** The most starts of one delivery between which none of its counters has changed, by `handler/id`. */
  inVain(): readonly (readonly [name: string, starts: number])[] {
    return [...this.#inVain].map(([name, { most }]) => [name, most]);
  }
}
