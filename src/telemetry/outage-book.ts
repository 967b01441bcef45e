import type { RelayEvent } from '../relay/relay-event.ts';

// Of each handler; beyond this many it is enough to know that there are very many.
const MAX_MESSAGES = 10_000;

/** Which messages wait because of outages, as far as one process has seen, and what their handlers depend on. */
export class OutageBook {
  readonly #waiting = new Map<string, Set<string>>();
  readonly #dependencies = new Map<string, string>();

  note(event: RelayEvent & { kind: 'run-failed' | 'run-done' }): void {
    const { handler, delivery } = event;
    const isWaiting = event.kind === 'run-failed' && event.next.kind === 'retry' && event.next.outage !== undefined;
    const ids = this.#waiting.get(handler) ?? new Set();
    if (!isWaiting) ids.delete(delivery.id);
    else if (ids.size < MAX_MESSAGES) ids.add(delivery.id);
    if (ids.size > 0) this.#waiting.set(handler, ids);
    else this.#waiting.delete(handler);
  }

  noteBreaker(dependency: string, handlers: readonly string[]): void {
    for (const handler of handlers) this.#dependencies.set(handler, dependency);
  }

  /** The outage is over: what waited goes on, perhaps in another process. */
  forget(handlers: readonly string[]): void {
    for (const handler of handlers) this.#waiting.delete(handler);
  }

  countOf(handler: string): number {
    return this.#waiting.get(handler)?.size ?? 0;
  }

  dependencyOf(handler: string): string | undefined {
    return this.#dependencies.get(handler);
  }
}
