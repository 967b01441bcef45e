import type { Effects } from '../kernel/effects.ts';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { ConsumeRequest, Consumption } from './broker.ts';
import { within } from './within.ts';

/** Reads one place of a broker: a queue, a stream. */
export interface PlaceReader {
  /** Rejects when it cannot, and is then over. */
  start(): Promise<void>;
  /** Takes nothing more, and waits for what is being stored. */
  stop(): Promise<void>;
}

/** What the reader of a place tells. */
export interface PlaceEvents {
  readonly onBatch: ConsumeRequest['onBatch'];
  /** Once: nothing more will come of this place. Nothing is told after `start` has rejected, or of what was stopped. */
  readonly onLost: (reason: unknown) => void;
  /** What keeps messages from the place while it is read; nothing: that was put right. */
  readonly onProblem: (problem: unknown) => void;
}

/** What a group of places is read with. */
export interface PlaceGroupOptions<Place, Reader extends PlaceReader> {
  /** The connection that all of them share. */
  readonly link: { readonly ended: Promise<unknown>; readonly isEnded: boolean };
  readonly places: readonly Place[];
  readonly nameOf: (place: Place) => string;
  readonly readerOf: (place: Place, events: PlaceEvents) => Reader;
  /** Ends the connection; these read by it, and have stopped. */
  readonly close: (readers: readonly Reader[]) => Promise<void>;
  readonly request: ConsumeRequest;
  readonly effects: Effects;
}

/** How often it is looked whether a place can be read that could not. */
const LOOK_MS = 2_000;

/** Reads the places of a group by a connection of its own. One that is refused or gone holds up no other. */
export class PlaceGroup<Place, Reader extends PlaceReader> implements Consumption {
  readonly #options: PlaceGroupOptions<Place, Reader>;
  readonly #reading = new Map<Place, Reader>();
  readonly #waiting = new Set<Place>();
  readonly #stopped = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  #isStarted = false;

  constructor(options: PlaceGroupOptions<Place, Reader>) {
    this.#options = options;
  }

  /** Makes sure that the places are there, and begins to read. Rejects when none can be read, and is then over. */
  async start(): Promise<void> {
    const { link, effects, places } = this.#options;
    try {
      const refusals: (HoldfastError | undefined)[] = [];
      for (const place of places) refusals.push(await within(effects, this.#begin(place)));
      if (this.#reading.size === 0) throw refusals.find(Boolean) ?? (await within(effects, link.ended));
      this.#isStarted = true;
      void link.ended.then((reason) => this.#lose(reason));
      this.#lookAgain();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** What is being stored is waited for, so that it need not come again. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const readers = [...this.#reading.values()];
    await Promise.all(readers.map((one) => this.#end(one)));
    await this.#options.close(readers);
  }

  /** Begins to read a place. Answers why it cannot, where the broker refuses; rejects where the broker is away. */
  async #begin(place: Place): Promise<HoldfastError | undefined> {
    const { request, places, nameOf, readerOf } = this.#options;
    const reader = readerOf(place, {
      onBatch: (batch) => this.#inTurn(batch),
      onLost: (reason) => void this.#losePlace(place, reason),
      onProblem: (problem) => request.onPlace(nameOf(place), problem),
    });
    try {
      await reader.start();
    } catch (error) {
      if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
      this.#waiting.add(place);
      if (places.length > 1) request.onPlace(nameOf(place), error);
      return error;
    }
    this.#waiting.delete(place);
    this.#reading.set(place, reader);
    request.onPlace(nameOf(place), undefined);
    return undefined;
  }

  /** A batch is stored only after the one before it, whichever place it is of. */
  #inTurn(batch: Parameters<ConsumeRequest['onBatch']>[0]): Promise<void> {
    const stored = this.#turn.then(() => this.#options.request.onBatch(batch));
    this.#turn = stored.catch(() => undefined);
    return stored;
  }

  async #losePlace(place: Place, reason: unknown): Promise<void> {
    if (this.#stopped.signal.aborted || this.#options.link.isEnded) return;
    const reader = this.#reading.get(place);
    this.#reading.delete(place);
    if (reader) await this.#end(reader);
    if (this.#stopped.signal.aborted) return;
    if (this.#reading.size === 0) return this.#lose(reason);
    this.#waiting.add(place);
    this.#options.request.onPlace(this.#options.nameOf(place), reason);
    this.#lookAgain();
  }

  #lookAgain(): void {
    if (this.#isLooking || this.#waiting.size === 0 || !this.#isStarted) return;
    this.#isLooking = true;
    const end = (): void => void (this.#isLooking = false);
    void this.#look().then(end, (error: unknown) => {
      end();
      void this.#lose(error);
    });
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopped;
    const sleep = createSleep(this.#options.effects);
    while (this.#waiting.size > 0) {
      await sleep(LOOK_MS, signal).catch(() => undefined);
      for (const place of this.#waiting) {
        if (signal.aborted) return;
        await within(this.#options.effects, this.#begin(place));
      }
    }
  }

  /**
   * Before it has started, that is told by `start`; once it was stopped, nobody asks any more. Told when the connection is closed: only
   * then does a broker give what is not acknowledged to the next one, and in its order.
   */
  async #lose(reason: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    await this.stop();
    if (this.#isStarted) this.#options.request.onLost(reason);
  }

  async #end(reader: Reader): Promise<void> {
    await within(this.#options.effects, reader.stop()).catch(() => undefined);
  }
}
