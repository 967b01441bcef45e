import type { Effects } from '../kernel/effects.ts';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { ConsumeRequest, Consumption } from '../transport/broker.ts';
import { within } from '../transport/within.ts';
import type { NatsLink } from './nats-link.ts';
import { StreamReader } from './stream-reader.ts';
import type { PlaceRequest, Topology } from './topology.ts';

/** What a reader works with. */
export interface GroupReaderOptions {
  readonly link: NatsLink;
  readonly topology: Topology;
  readonly places: readonly PlaceRequest[];
  readonly request: ConsumeRequest;
  readonly left: Map<string, number>;
  readonly keepMs: number;
  readonly effects: Effects;
}

/** How often it is looked whether a stream can be read that could not. */
const LOOK_MS = 2_000;

/** Reads the streams of a group by a connection of its own. One that is refused or gone holds up no other. */
export class GroupReader implements Consumption {
  readonly #options: GroupReaderOptions;
  readonly #reading = new Map<PlaceRequest, StreamReader>();
  readonly #waiting = new Set<PlaceRequest>();
  readonly #stopped = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #isLooking = false;
  #isStarted = false;

  constructor(options: GroupReaderOptions) {
    this.#options = options;
  }

  /** Makes sure that the streams are there, and begins to read. Rejects when none can be read, and is then over. */
  async start(): Promise<void> {
    const { link, effects, places } = this.#options;
    try {
      const refusals: (HoldfastError | undefined)[] = [];
      for (const place of places) refusals.push(await within(effects, this.#begin(place)));
      if (this.#reading.size === 0) throw refusals[0] ?? new Error('there is nothing to read');
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
    const { link, effects } = this.#options;
    await Promise.all([...this.#reading.values()].map((one) => within(effects, one.stop()).catch(() => undefined)));
    await link.close();
  }

  /** Begins to read a stream. Answers why it cannot, where the broker refuses; rejects where the broker is away. */
  async #begin(place: PlaceRequest): Promise<HoldfastError | undefined> {
    const { request } = this.#options;
    const reader = new StreamReader({
      ...this.#options,
      place,
      onBatch: (batch) => this.#inTurn(batch),
      onLost: (reason) => void this.#losePlace(place, reason),
    });
    try {
      await reader.start();
    } catch (error) {
      if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
      this.#waiting.add(place);
      if (this.#options.places.length > 1) request.onPlace(place.stream, error);
      return error;
    }
    this.#waiting.delete(place);
    this.#reading.set(place, reader);
    request.onPlace(place.stream, undefined);
    return undefined;
  }

  /** A batch is stored only after the one before it, whichever stream it is of. */
  #inTurn(batch: Parameters<ConsumeRequest['onBatch']>[0]): Promise<void> {
    const stored = this.#turn.then(() => this.#options.request.onBatch(batch));
    this.#turn = stored.catch(() => undefined);
    return stored;
  }

  async #losePlace(place: PlaceRequest, reason: unknown): Promise<void> {
    const reader = this.#reading.get(place);
    if (this.#stopped.signal.aborted || this.#options.link.isEnded) return;
    this.#reading.delete(place);
    await reader?.stop();
    if (this.#reading.size === 0) return this.#lose(reason);
    this.#waiting.add(place);
    this.#options.request.onPlace(place.stream, reason);
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

  /** Before it has started, that is told by `start`; once it was stopped, nobody asks any more. */
  async #lose(reason: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    if (this.#isStarted) this.#options.request.onLost(reason);
    await this.stop();
  }
}
