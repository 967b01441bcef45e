import type { StoreCalls } from './store-calls.ts';

const EVERY_MS = 60_000;
const MOST = 1_000;
// A full batch says that there are more: with a minute between them a busy store would never be done.
const AFTER_FULL_BATCH_MS = 1_000;

/** Removes expired records now and then, in the shadow of claims: a service that has none to remove asks once a minute. */
export class Reaper<Tx> {
  readonly #calls: StoreCalls<Tx>;
  #dueMs: number;

  constructor(calls: StoreCalls<Tx>) {
    this.#calls = calls;
    const { effects } = calls;
    // Somewhere in the first minute: processes that live for a few seconds only do their share, and not all at their start.
    this.#dueMs = effects.monoMs() + effects.random() * EVERY_MS;
  }

  /** Not waited for. What fails is told, and tried again a minute later. */
  now(): void {
    const { effects, store } = this.#calls;
    const now = effects.monoMs();
    if (now < this.#dueMs) return;
    this.#dueMs = now + EVERY_MS;
    const told = (count: number): void => {
      if (count >= MOST) this.#dueMs = effects.monoMs() + AFTER_FULL_BATCH_MS;
      if (count > 0) this.#calls.tell({ kind: 'reaped', count });
    };
    this.#calls.call('reap', undefined, () => store.reap(MOST)).then(told, () => undefined);
  }
}
