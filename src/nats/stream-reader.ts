import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { PlaceEvents, PlaceReader } from '../transport/place-group.ts';
import { within } from '../transport/within.ts';
import { Hand } from './hand.ts';
import type { JetStreamMessage, Pulling } from './nats-library.ts';
import { ANSWER_MS, type NatsLink } from './nats-link.ts';
import { inboundOf } from './nats-message.ts';
import { ReaderPlace } from './reader-place.ts';
import { type PlaceRequest, type Topology, WORKING_MS } from './topology.ts';
import { trimStream } from './trim-stream.ts';

/** What a reader of one stream works with. */
export interface StreamReaderOptions extends PlaceEvents {
  readonly link: NatsLink;
  readonly topology: Topology;
  readonly place: PlaceRequest;
  readonly left: Map<string, number>;
  /** Messages that all consumers have acknowledged are taken away when they are this old. */
  readonly keepMs: number;
  readonly effects: Effects;
}

const AT_ONCE = 500;
/** With more in the hand nothing is asked for until all of it is stored: several batches, and what a process can spare. */
const HAND_BYTES = 33_554_432;
const LOOK_MS = 250;
const CERTAIN_MS = 100;
/** What is asked for ends by itself before another may become the reader: the server would go on to write to a connection that is gone. */
const PULL_MS = 5_000;
const DRAIN_MS = 2_000;
const TRIM_EVERY_MS = 60_000;
const NANOS = 1_000_000;

/**
 * Reads one stream for a group, as long as it has the place of its reader. What has arrived is handed over, a batch after the other and in
 * the order of the stream, and acknowledged when it is stored. While that takes long, the server is told that it is worked on.
 */
export class StreamReader implements PlaceReader {
  readonly #options: StreamReaderOptions;
  readonly #place: ReaderPlace;
  readonly #hand = new Hand();
  readonly #stopped = new AbortController();
  /** How many are asked for at a time: fewer once so many were too large for the hand. */
  #askFor = AT_ONCE;
  #pulling: Pulling | undefined;
  #pausing: Promise<void> | undefined;
  #ackWaitMs = 0;
  #running: Promise<void> | undefined;
  #handing: Promise<void> | undefined;
  #failed = Promise.withResolvers<never>();
  #isReading = false;
  /** The consumer it read by is gone. One that is made again has its name, and other messages under the same numbers. */
  #isGone = false;
  #trimmedMs = Number.NEGATIVE_INFINITY;

  constructor(options: StreamReaderOptions) {
    this.#options = options;
    const { link, topology, place, left, effects } = options;
    const { stream: client, manager } = link;
    this.#place = new ReaderPlace({ client, manager, ...topology.readersOf(place), left, effects });
  }

  /** Makes sure that the stream and the consumer are there, and begins to read once no other does. */
  async start(): Promise<void> {
    const { link, topology, place } = this.#options;
    await topology.declareStream(link.manager, place.stream);
    await topology.declareReaders(link.manager, place);
    const { config } = await topology.declareConsumer(link.manager, place);
    this.#ackWaitMs = (config.ack_wait ?? 0) / NANOS;
    this.#running = this.#run();
  }

  /** Takes nothing more, waits for what is being stored, and gives back the rest: the next reader may begin at once. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.#place.leave();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const sleep = createSleep(this.#options.effects);
    try {
      while (!signal.aborted) {
        if (await this.#place.hold()) {
          await this.#read();
          continue;
        }
        await this.#forgetGone();
        await sleep(LOOK_MS, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#stopped.abort();
      this.#options.onLost(error);
    }
  }

  /** Reads until the place is another's, or it is stopped. Rejects with what went wrong. */
  async #read(): Promise<void> {
    const { link, place } = this.#options;
    this.#failed = Promise.withResolvers();
    this.#failed.promise.catch(() => undefined);
    this.#hand.begin(await link.manager.consumers.info(place.stream, place.consumer));
    this.#isReading = true;
    try {
      await this.#pull();
      await this.#staying();
    } finally {
      await this.#end();
    }
  }

  async #pull(): Promise<void> {
    const { link, place } = this.#options;
    const consumer = await link.stream.consumers.get(place.stream, place.consumer);
    const pulling = await consumer.consume({
      max_messages: this.#askFor,
      expires: PULL_MS,
      abort_on_missing_resource: true,
      callback: (message) => this.#take(message),
    });
    this.#pulling = pulling;
    const gone = (reason: unknown): void => {
      if (this.#pulling !== pulling) return;
      this.#isGone ||= this.#isReading;
      this.#failed.reject(reason instanceof Error ? reason : new Error(`stream "${place.stream}" is read no more`));
    };
    pulling.closed().then(gone, gone);
  }

  /** Asks for nothing more. What is on its way is taken: otherwise it would come again after ten seconds only. */
  async #stopPulling(): Promise<void> {
    const { link, effects } = this.#options;
    const pulling = this.#pulling;
    this.#pulling = undefined;
    if (!link.isEnded) await within(effects, Promise.resolve(pulling?.sub?.drain?.()), DRAIN_MS).catch(() => undefined);
    await pulling?.close().catch(() => undefined);
  }

  /** Lets what is in the hand be stored before more is asked for, and then less at a time: the protocol counts messages, and not bytes. */
  async #pause(): Promise<void> {
    await this.#stopPulling();
    while (this.#handing) await this.#handing;
    if (!this.#isReading) return;
    await this.#forgetGone();
    if (this.#isReading) await this.#pull();
  }

  /** Says every few seconds that it lives, and that what is in the hand is worked on. Ends when the place is another's. */
  async #staying(): Promise<void> {
    const { signal } = this.#stopped;
    const sleep = createSleep(this.#options.effects);
    for (;;) {
      await Promise.race([sleep(WORKING_MS, signal).catch(() => undefined), this.#failed.promise]);
      if (signal.aborted) return;
      // An answer that is late is no end, as long as nobody else can have taken the place.
      const isHeld = await this.#place.hold().catch((error: unknown) => {
        if (this.#place.isHeld) return true;
        throw error;
      });
      if (!isHeld) return;
      // In their order, so that what is not acknowledged comes again in it.
      for (const message of this.#hand.all()) message.working();
      await this.#trim();
    }
  }

  async #end(): Promise<void> {
    const { link } = this.#options;
    this.#isReading = false;
    this.#failed.reject(new Error('it was stopped'));
    // It may be about to ask again.
    await this.#pausing;
    await this.#stopPulling();
    await this.#handing;
    // Where another reads already, it is another's.
    if (this.#place.isHeld && !this.#isGone && !link.isEnded) await this.#giveBack();
    this.#hand.clear();
  }

  /** Not with a delay: what comes later in its key would overtake it. */
  async #giveBack(): Promise<void> {
    const open = this.#hand.all();
    if (open.length === 0) return;
    await this.#forgetGone().catch(() => undefined);
    for (const message of open) message.nak();
  }

  /**
   * Lets the server forget who asked for messages and is gone: it does so when it is asked about the consumer. NATS 2.9 otherwise takes
   * such a one for there, finds nobody, and puts back the wrong message: one that is to come again then comes ten seconds later.
   */
  async #forgetGone(): Promise<void> {
    const { link, place } = this.#options;
    await link.manager.consumers.info(place.stream, place.consumer);
  }

  #take(message: JetStreamMessage): void {
    this.#hand.take(message);
    this.#bound();
    // All that came in one piece is handed over at once.
    if (this.#isReading) this.#handing ??= Promise.resolve().then(() => this.#handAll());
  }

  /** What another left must be able to come in, so that it is certain that all of it is here. */
  #bound(): void {
    const { bytes, count, isCertain } = this.#hand;
    if (bytes <= HAND_BYTES || !isCertain || !this.#isReading || this.#pausing) return;
    this.#askFor = Math.max(1, Math.floor((HAND_BYTES / 2 / bytes) * count));
    this.#pausing = this.#pause()
      .catch((error: unknown) => this.#failed.reject(error))
      .finally(() => (this.#pausing = undefined));
  }

  async #handAll(): Promise<void> {
    try {
      while (this.#hand.isWaiting && this.#isReading) await this.#handOver();
    } catch (error) {
      this.#failed.reject(error);
    } finally {
      this.#handing = undefined;
    }
  }

  async #handOver(): Promise<void> {
    if (!(await this.#isCertain())) return;
    this.#mustBeReader();
    const found = this.#hand.next(AT_ONCE);
    await this.#options.onBatch(found.map(inboundOf));
    this.#mustBeReader();
    // An acknowledgement would be taken for that of a message which nobody has stored.
    if (this.#isGone) throw new Error(`stream "${this.#options.place.stream}" or its consumer was deleted meanwhile`);
    const last = found.at(-1);
    for (const message of found) if (message !== last) message.ack();
    // The server hears them in their order: once it has answered the last, it has all of them. One that was not heard would come again,
    // which costs a statement; waiting for each would cost a round trip for each.
    await last?.ackAck({ timeout: ANSWER_MS });
    this.#hand.settle();
  }

  /** Waits until all that is not acknowledged is here. False: it is not read any more. */
  async #isCertain(): Promise<boolean> {
    const { link, place, effects } = this.#options;
    const sleep = createSleep(effects);
    const lateMs = effects.monoMs() + 2 * this.#ackWaitMs;
    while (!this.#hand.isCertain && this.#isReading) {
      this.#hand.compare(await link.manager.consumers.info(place.stream, place.consumer), effects.monoMs() > lateMs);
      if (!this.#hand.isCertain) await sleep(CERTAIN_MS);
    }
    return this.#isReading;
  }

  /** A process that stood still finds out by this that another may be the reader by now. */
  #mustBeReader(): void {
    if (!this.#place.isHeld) throw new Error('it gave no sign of life for too long: another may read by now');
  }

  async #trim(): Promise<void> {
    const { link, place, keepMs, effects } = this.#options;
    const nowMs = effects.monoMs();
    if (nowMs - this.#trimmedMs < TRIM_EVERY_MS) return;
    this.#trimmedMs = nowMs;
    // A stream that may not be trimmed stays as it is.
    await trimStream(link.manager, place.stream, { keepMs, nowMs: effects.now().wallMs }).catch(() => undefined);
  }
}
