import type { ChangeStream, Collection } from 'mongodb';
import type { Effects } from '../kernel/effects.ts';
import { linkAbort } from '../kernel/abort-link.ts';
import type { StoredRow } from './row.ts';

/** How long no change stream is asked for after one has failed: then there is polling alone. */
const ASK_AGAIN_AFTER_MS = 5_000;

/** After these the server ends a change stream, and the driver tells nobody. */
const GONE: readonly string[] = ['drop', 'rename', 'dropDatabase', 'invalidate'];

/** Ends waits early when something was written that concerns a service. It may miss something: who waits, waits for a limited time. */
export class Wakeup {
  readonly #collection: Collection<StoredRow>;
  readonly #service: string;
  readonly #effects: Effects;
  readonly #onDropped: () => void;
  #stream: ChangeStream | undefined;
  #failedAtMs = -Infinity;
  #isAwake = false;
  #wake: (() => void) | undefined;

  /** `onDropped` is called when the collection was dropped or renamed. */
  constructor(collection: Collection<StoredRow>, service: string, effects: Effects, onDropped: () => void) {
    this.#collection = collection;
    this.#service = service;
    this.#effects = effects;
    this.#onDropped = onDropped;
  }

  /** The next wait, or the present one, is over at once. */
  readonly wake = (): void => {
    this.#isAwake = true;
    this.#wake?.();
  };

  /** Waits for a wake-up, but no longer than this, nor after the signal is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#listen();
    if (!this.#isAwake && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = this.#effects.setTimer(() => this.#wake?.(), ms);
        const unlink = linkAbort(signal, () => this.#wake?.());
        this.#wake = () => {
          this.#wake = undefined;
          this.#effects.clearTimer(timer);
          unlink();
          resolve();
        };
      });
    }
    this.#isAwake = false;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close().catch(() => undefined);
  }

  #noteGone(stream: ChangeStream): void {
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    void stream.close().catch(() => undefined);
    this.#onDropped();
  }

  #listen(): void {
    if (this.#stream || this.#effects.monoMs() - this.#failedAtMs < ASK_AGAIN_AFTER_MS) return;
    const isNew = { operationType: 'insert', 'fullDocument.service': this.#service };
    const isAgain = {
      operationType: 'update',
      'updateDescription.updatedFields.state': { $in: ['open', 'discarded'] },
    };
    const isGone = { operationType: { $in: GONE } };
    const stream = this.#collection.watch([
      { $match: { $or: [isNew, isAgain, isGone] } },
      { $project: { _id: 1, operationType: 1 } },
    ]);
    this.#stream = stream;
    stream.on('change', ({ operationType }) => {
      if (GONE.includes(operationType)) this.#noteGone(stream);
      this.wake();
    });
    stream.on('error', () => {
      // One that was closed here ends with an error too.
      if (this.#stream !== stream) return;
      this.#failedAtMs = this.#effects.monoMs();
      this.#stream = undefined;
      void stream.close().catch(() => undefined);
    });
  }
}
