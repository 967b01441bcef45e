import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { NodeResponse } from './node-response.ts';

const sleep = createSleep(systemEffects);

// `finished` of Node's streams goes by both.
const OVER = ['finish', 'close'] as const;

/**
 * A reply that is held back until its transaction is through. Code inside the transaction that waits for the reply to be sent
 * (`await reply.send(stream)`, `await pipeline(source, res)`, `res.end(callback)`) would wait for the transaction, and that for it: so
 * listeners that were added inside it are called when the reply is whole.
 */
export class HeldReply {
  readonly #res: NodeResponse;
  readonly #listening: ReadonlySet<unknown>;
  readonly #whole = Promise.withResolvers<void>();
  #isEnded = false;

  constructor(res: NodeResponse) {
    this.#res = res;
    this.#listening = new Set(OVER.flatMap((event) => res.rawListeners(event)));
    // Where `work` has thrown, nothing waits for it.
    this.#whole.promise.catch(() => undefined);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  end(callback: (() => void) | undefined): void {
    this.#isEnded = true;
    this.#whole.resolve();
    queueMicrotask(() => {
      callback?.();
      for (const event of OVER) this.#release(event);
    });
  }

  #release(event: 'finish' | 'close'): void {
    for (const listener of this.#res.rawListeners(event) as (() => void)[]) {
      if (this.#listening.has(listener)) continue;
      this.#res.removeListener(event, listener);
      listener.call(this.#res);
    }
  }

  /** It broke off. */
  destroy(error: unknown): void {
    this.#whole.reject(error ?? new HoldfastError('IDEMPOTENCY_REPLY_MISSING', { waitedMs: 0 }));
  }

  /** Frameworks may end the reply a little later than they were asked to; a handler that never does must not keep the transaction. */
  async endedWithin(ms: number): Promise<void> {
    const late = new AbortController();
    const wait = sleep(ms, late.signal).then(
      () => {
        throw new HoldfastError('IDEMPOTENCY_REPLY_MISSING', { waitedMs: ms });
      },
      () => undefined,
    );
    try {
      await Promise.race([this.#whole.promise, wait]);
    } finally {
      late.abort();
    }
  }
}
