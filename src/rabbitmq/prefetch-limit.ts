import type { Effects } from '../kernel/effects.ts';

/** What may be in the hand of one consumer: several batches, and what a process can spare. */
const HAND_BYTES = 33_554_432;
/** For so long a queue with large messages is read with fewer at a time. */
const KEEP_MS = 600_000;

/**
 * Bounds what a consumer has in its hand by bytes. The protocol knows only a number of messages, and it cannot be changed while a quorum queue
 * is read: where too much has arrived, the queue is read again with a smaller number.
 */
export class PrefetchLimit {
  readonly #most: number;
  readonly #effects: Pick<Effects, 'monoMs'>;
  readonly #smaller = new Map<string, { readonly count: number; readonly untilMs: number }>();

  constructor(most: number, effects: Pick<Effects, 'monoMs'>) {
    this.#most = most;
    this.#effects = effects;
  }

  /** How many messages of a queue may be in the hand. */
  of(queue: string): number {
    const smaller = this.#smaller.get(queue);
    return smaller && smaller.untilMs > this.#effects.monoMs() ? smaller.count : this.#most;
  }

  /** Why a queue must be read with fewer messages at a time, when so many of so many bytes are in the hand; nothing: it need not. */
  problemOf(queue: string, held: { readonly count: number; readonly bytes: number }): Error | undefined {
    if (held.bytes <= HAND_BYTES || held.count < 2) return undefined;
    const count = Math.max(1, Math.floor((HAND_BYTES / held.bytes) * (held.count / 2)));
    this.#smaller.set(queue, { count, untilMs: this.#effects.monoMs() + KEEP_MS });
    return new Error(
      `${held.count} messages of the queue "${queue}" are ${held.bytes} bytes; it is read again, ${count} at a time`,
    );
  }
}
