import type { Effects } from '../kernel/effects.ts';
import { codeOf, JETSTREAM, type JetStreamClient, type JetStreamManager } from './nats-library.ts';
import { HOLD_MS } from './topology.ts';

/** What a place is held with. */
export interface ReaderPlaceOptions {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  /** The stream in which readers say that they live, and the subject of this place in it. */
  readonly stream: string;
  readonly subject: string;
  /** What readers of this process that have stopped still hold, because they could not say that they left. By subject. */
  readonly left: Map<string, number>;
  readonly effects: Effects;
}

const SIGN_MS = 2_000;
/** A sign of life that is older may have been overlooked: another could be the reader before an answer to what is asked now is there. */
const DOUBT_MS = HOLD_MS - 2 * SIGN_MS;

/**
 * Of the readers of a group one at a time has a stream, so that the order holds. It is who wrote the last message under the subject of the
 * place, which the server takes away when it is ten seconds old; the next is written only where nobody has written since.
 */
export class ReaderPlace {
  readonly #options: ReaderPlaceOptions;
  #seq: number | undefined;
  #aliveMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderPlaceOptions) {
    this.#options = options;
  }

  /** False also where it is in doubt. */
  get isHeld(): boolean {
    return this.#seq !== undefined && this.#options.effects.monoMs() - this.#aliveMs < DOUBT_MS;
  }

  /** Takes the place where it is free, or gives a sign of life. Answers whether it is held. */
  async hold(): Promise<boolean> {
    const { client, subject, left, effects } = this.#options;
    const aliveMs = effects.monoMs();
    const before = this.#seq ?? left.get(subject) ?? 0;
    left.delete(subject);
    try {
      const expect = { lastSubjectSequence: before };
      const { seq } = await client.publish(subject, new Uint8Array(), { expect, timeout: SIGN_MS });
      this.#seq = seq;
      this.#aliveMs = aliveMs;
      return true;
    } catch (error) {
      if (codeOf(error) !== JETSTREAM.WRONG_SEQUENCE) throw error;
      this.#seq = undefined;
      return false;
    }
  }

  /** The next reader need not wait. Where that cannot be told, the next of this process may go on from here. */
  async leave(): Promise<void> {
    const { manager, stream, subject, left } = this.#options;
    const seq = this.#seq;
    this.#seq = undefined;
    if (seq === undefined) return;
    await manager.streams.deleteMessage(stream, seq, false).catch(() => void left.set(subject, seq));
  }
}
