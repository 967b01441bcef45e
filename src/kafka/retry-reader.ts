import { linkAbort } from '../kernel/abort-link.ts';
import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { ConsumeRequest, Consumption, InboundMessage } from '../transport/broker.ts';
import { DEAD_AT, DEAD_SERVICE, isDeadCopy } from '../transport/cloud-event.ts';

/** What a reader of retry topics works with. */
export interface RetryReaderOptions {
  /** How long what is there waits. */
  readonly delayMs: number;
  readonly topics: readonly string[];
  readonly request: ConsumeRequest;
  /** Begins to read the topics. */
  readonly open: (request: ConsumeRequest) => Promise<Consumption>;
  readonly effects: Effects;
}

/** How often it is looked whether topics can be read that could not. */
const LOOK_MS = 2_000;

/**
 * Reads copies of dead letters that wait, all of them equally long, and hands over each of its service when its time has come. What goes wrong
 * here is told and tried again, and holds up nothing else.
 */
export class RetryReader implements Consumption {
  readonly #options: RetryReaderOptions;
  readonly #stopped = new AbortController();
  readonly #sleep: ReturnType<typeof createSleep>;
  readonly #running: Promise<void>;

  constructor(options: RetryReaderOptions) {
    this.#options = options;
    this.#sleep = createSleep(options.effects);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error('it was stopped'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { topics, request } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        if (signal.aborted) return;
        for (const topic of topics) request.onPlace(topic, error);
        await this.#sleep(LOOK_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Reads until it is stopped or lost, and rejects then. */
  async #read(): Promise<void> {
    const { request, open } = this.#options;
    const { signal } = this.#stopped;
    // With the connection a wait for what was read by it is over too: whoever reads it next waits for the rest.
    const ended = new AbortController();
    const unlink = linkAbort(signal, () => ended.abort(signal.reason));
    try {
      const onBatch = (batch: readonly InboundMessage[]): Promise<void> => this.#hand(batch, ended.signal);
      const reading = await open({ ...request, onBatch, onLost: (error) => ended.abort(error) });
      try {
        await this.#sleep(Infinity, ended.signal);
      } finally {
        await reading.stop();
      }
    } finally {
      unlink();
    }
  }

  /** A copy of another service is that one's to hand over. */
  async #hand(batch: readonly InboundMessage[], signal: AbortSignal): Promise<void> {
    const { request, effects } = this.#options;
    let waiting = batch
      .filter((copy) => isDeadCopy(copy) && copy.headers[DEAD_SERVICE] === request.group)
      .map((copy) => ({ copy, dueMs: effects.monoMs() + this.#leftMs(copy) }));
    while (waiting.length > 0) {
      const nextMs = Math.min(...waiting.map(({ dueMs }) => dueMs));
      await this.#sleep(nextMs - effects.monoMs(), signal);
      const nowMs = Math.max(nextMs, effects.monoMs());
      await request.onBatch(waiting.filter(({ dueMs }) => dueMs <= nowMs).map(({ copy }) => copy));
      waiting = waiting.filter(({ dueMs }) => dueMs > nowMs);
    }
  }

  /** Never longer than the delay, whatever the clocks of two machines say. */
  #leftMs({ headers }: InboundMessage): number {
    const { delayMs, effects } = this.#options;
    const leftMs = Date.parse(headers[DEAD_AT] ?? '') + delayMs - effects.now().wallMs;
    return Number.isNaN(leftMs) ? 0 : Math.max(0, Math.min(delayMs, leftMs));
  }
}
