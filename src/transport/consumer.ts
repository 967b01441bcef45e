import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { ForeignMessage, SendResult } from '../outbox/outbox-store.ts';
import type { Classifier } from '../retry/failure.ts';
import { DEAD_SERVICE, deadLetterOf, fromWire, isDeadCopy } from './cloud-event.ts';
import { BatchLimit, batchOf } from './batch-limit.ts';
import type { Consumption, InboundMessage, Broker } from './broker.ts';
import { type KeptAbout, keptMessage } from './kept-message.ts';
import { readAllTypes, type TakenAs } from './read-all-types.ts';
import type { TransportHost } from './transport.ts';
import { within } from './within.ts';

/** What a consumer works with. */
export interface ConsumerOptions extends TransportHost {
  readonly broker: Broker;
  /** Tells a message that the database will never take from a database that is away. */
  readonly classifier: Classifier;
  /** Takes the dead letters of the broker: they are kept, and wait for an operator. */
  readonly isDead: boolean;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** About what a message takes besides its payload. */
const ENVELOPE_BYTES = 300;

/**
 * Stores what a broker has, and lets it be acknowledged only then. From there on it is a delivery like any other: order, retries, dead
 * letters and exactly-once effects are the engine's. While the database is away, or full, nothing is taken from the broker.
 */
export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #stopped = new AbortController();
  readonly #limit: BatchLimit;
  readonly #running: Promise<void>;
  /** Places that cannot be read, and how often that was seen. */
  readonly #waiting = new Map<string, number>();

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#limit = new BatchLimit(options.effects);
    this.#running = this.#run();
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    this.#stopped.abort(new HoldfastError('RELAY_STOPPED', { handler: this.#options.broker.name, id: '' }));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { effects, broker, tell } = this.#options;
    const sleep = createSleep(effects);
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted;) {
      const beganMs = effects.monoMs();
      try {
        await this.#consume(signal);
      } catch (error) {
        if (signal.aborted) return;
        // What ran for a while has not failed over and over.
        failures = effects.monoMs() - beganMs > LONGEST_WAIT_MS ? 1 : failures + 1;
        tell({ kind: 'transport-failed', transport: broker.name, during: 'consume', error, failures });
        await sleep(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS), signal).catch(() => undefined);
      }
    }
  }

  /** Consumes until the connection is lost, or the consumer stops. */
  async #consume(signal: AbortSignal): Promise<void> {
    const { broker, service, types, effects } = this.#options;
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    const starting = broker.consume({
      group: service,
      types,
      isDead: this.#options.isDead,
      onBatch: (batch) => this.#store(batch),
      onPlace: (place, problem) => this.#notePlace(place, problem),
      onLost: lost.reject,
    });
    let isLate = false;
    const stopLate = (consumption: Consumption): void => void (isLate && consumption.stop().catch(() => undefined));
    starting.then(stopLate, () => undefined);
    const consumption = await within(effects, starting).catch((error: unknown) => {
      isLate = true;
      throw error;
    });
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => aborted.resolve(), { once: true });
    if (signal.aborted) aborted.resolve();
    try {
      await Promise.race([lost.promise, aborted.promise]);
    } finally {
      await within(effects, consumption.stop()).catch(() => undefined);
    }
  }

  #notePlace(place: string, problem: unknown): void {
    const { tell, broker } = this.#options;
    const about = { transport: broker.name, place };
    const failures = (this.#waiting.get(place) ?? 0) + 1;
    if (problem !== undefined) {
      this.#waiting.set(place, failures);
      tell({ kind: 'place-waiting', ...about, error: problem, failures });
    } else if (this.#waiting.delete(place)) tell({ kind: 'place-ready', ...about });
  }

  async #store(batch: readonly InboundMessage[]): Promise<void> {
    const { broker, tell, isDead } = this.#options;
    const copies = isDead ? [] : batch.filter(isDeadCopy);
    const others = copies.length === 0 ? batch : batch.filter((inbound) => !isDeadCopy(inbound));
    const own = await this.#takeBack(copies);
    const messages = await this.#untilAnswered(() =>
      readAllTypes(this.#options, (takenAs) => others.flatMap((inbound) => this.#read(inbound, takenAs) ?? [])),
    );
    const results = messages.length === 0 ? [] : await this.#receive(messages, others);
    const stored = results.filter(({ kind }) => kind === 'stored').length;
    tell({
      kind: 'received',
      transport: broker.name,
      stored,
      duplicates: own + messages.length - stored,
      ignored: batch.length - own - messages.length,
    });
  }

  /**
   * Copies of dead letters that somebody has put back where they came from. Ours are replayed, or nothing happens: what is not dead any
   * more was handled or discarded, however long ago. Those of other services are theirs. None is stored: it came before. Gives how many
   * are ours.
   */
  async #takeBack(copies: readonly InboundMessage[]): Promise<number> {
    const { service, takeBack } = this.#options;
    const own = copies.filter(({ headers }) => headers[DEAD_SERVICE] === service);
    const letters = own.flatMap((copy) => deadLetterOf(copy) ?? []);
    if (letters.length > 0) await this.#untilAnswered(() => takeBack(letters));
    return own.length;
  }

  /** What a message is to us; nothing: it is none of ours. */
  #read(inbound: InboundMessage, takenAs: TakenAs): ForeignMessage | undefined {
    const { broker, service, isDead } = this.#options;
    if (isDead) {
      // A copy of ours: the dead letter itself is here.
      if (inbound.headers[DEAD_SERVICE] === service) return undefined;
      const reason = inbound.headers['dlq-message'] ?? 'it gives no reason';
      return keptMessage(inbound, this.#about('holdfast.imported'), `a dead letter of the broker: ${reason}`);
    }
    try {
      return fromWire(inbound, { takenAs, decode: broker.decode });
    } catch (error) {
      return keptMessage(inbound, this.#about('holdfast.unreadable'), messageOf(error));
    }
  }

  #about(type: KeptAbout['type']): KeptAbout {
    const { broker, service } = this.#options;
    return { type, transport: broker.name, service };
  }

  /**
   * Stores as much at once as a commit bears, one part after the other: what was not answered in time is tried again in halves. Parts keep
   * the order, and whoever stores the same messages at the same time does so in the same order.
   */
  async #receive(
    messages: readonly ForeignMessage[],
    found: readonly InboundMessage[],
  ): Promise<readonly SendResult[]> {
    const results: SendResult[] = [];
    while (results.length < messages.length)
      results.push(...(await this.#receiveSome(messages.slice(results.length), found)));
    return results;
  }

  /** Tries until the first of them are stored. A message that the database refuses for what it is, is stored as one that cannot be read. */
  async #receiveSome(
    messages: readonly ForeignMessage[],
    found: readonly InboundMessage[],
  ): Promise<readonly SendResult[]> {
    const { classifier, receive } = this.#options;
    const isRefused = (error: unknown): boolean => !isHoldfastError(error) && classifier(error).verdict === 'fail';
    let part = messages;
    try {
      return await this.#untilAnswered(() => {
        const { batch, size } = batchOf(messages, this.#limit.bytes, sizeOf);
        part = batch;
        return this.#limit.carry(() => receive(batch), size);
      }, isRefused);
    } catch (error) {
      const [first] = part;
      const inbound = first && found.findLast(({ sourceId }) => sourceId === first.sourceId);
      if (!isRefused(error) || (part.length === 1 && !inbound)) throw error;
      if (part.length === 1 && inbound)
        return this.#receive([keptMessage(inbound, this.#about('holdfast.unreadable'), messageOf(error))], []);
      const half = Math.ceil(part.length / 2);
      return [...(await this.#receive(part.slice(0, half), found)), ...(await this.#receive(part.slice(half), found))];
    }
  }

  /** Asks the database until it answers, or refuses for good. Rejects when the consumer stops. */
  async #untilAnswered<T>(ask: () => Promise<T>, isRefused: (error: unknown) => boolean = () => false): Promise<T> {
    const { effects, tell } = this.#options;
    const { signal } = this.#stopped;
    const sleep = createSleep(effects);
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        return await ask();
      } catch (error) {
        if (isRefused(error)) throw error;
        tell({ kind: 'store-failed', during: 'receive', error, failures });
        await sleep(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS), signal);
      }
    }
  }
}

function sizeOf({ payload, headers, key }: ForeignMessage): number {
  let size = payload.length + ENVELOPE_BYTES + (key?.length ?? 0);
  for (const name in headers) size += name.length + (headers[name]?.length ?? 0);
  return size;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
