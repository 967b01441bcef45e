import type { Effects } from '../kernel/effects.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { within } from '../transport/within.ts';
import type { AmqpChannel } from './amqp-client.ts';
import type { AmqpLink } from './amqp-link.ts';
import type { QueueRequest, Topology } from './topology.ts';

/** What a watch works with. */
export interface BindingWatchOptions {
  readonly link: AmqpLink;
  readonly topology: Topology;
  readonly queue: QueueRequest;
  readonly effects: Effects;
  /** What is wrong with the exchange or a binding; nothing: it was put right. */
  readonly onProblem: (problem: unknown) => void;
}

/** How often it is looked. Publishers wait longer before they make a deleted exchange again: `RECREATE_MS`. */
const LOOK_MS = 2_000;

/**
 * Keeps a queue bound while it is read. A broker tells the consumers of a queue nothing when the exchange or a binding is deleted: the
 * queue stays, and nothing arrives in it any more. So it is looked every two seconds; what is missing is reported and made again.
 */
export class BindingWatch {
  readonly #options: BindingWatchOptions;
  readonly #stopped = new AbortController();
  #channel: AmqpChannel | undefined;
  #hasProblem = false;

  constructor(options: BindingWatchOptions) {
    this.#options = options;
  }

  /** Looks until it is stopped, or the connection has ended. */
  async run(): Promise<void> {
    const { effects, link } = this.#options;
    const { signal } = this.#stopped;
    const sleep = createSleep(effects);
    for (;;) {
      await sleep(LOOK_MS, signal).catch(() => undefined);
      if (signal.aborted || link.isEnded) return;
      await this.#look().catch((error: unknown) => this.#note(error));
    }
  }

  /** What runs ends with the connection. */
  stop(): void {
    this.#stopped.abort();
  }

  async #look(): Promise<void> {
    const { topology, queue, effects } = this.#options;
    try {
      await within(effects, topology.checkExchange(await this.#open(), queue));
    } catch (error) {
      if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
      this.#report(error);
    }
    // A binding cannot be asked for. Making one that is there changes nothing.
    await within(effects, topology.declareQueue(await this.#open(), queue));
    if (this.#hasProblem && topology.declares) this.#report(undefined);
  }

  /** A refusal closes the channel: the next step has another. */
  async #open(): Promise<AmqpChannel> {
    if (this.#channel) return this.#channel;
    const channel = await within(this.#options.effects, this.#options.link.connection.createChannel());
    const forget = (): void => void (this.#channel = undefined);
    // Without a listener it ends the process.
    channel.on('error', forget);
    channel.on('close', forget);
    this.#channel = channel;
    return channel;
  }

  /** A look that failed for another reason is repeated; that the broker is away is noticed by whoever reads. */
  #note(error: unknown): void {
    if (isHoldfastError(error, 'BROKER_REFUSED')) this.#report(error);
  }

  #report(problem: unknown): void {
    if (this.#stopped.signal.aborted) return;
    this.#hasProblem = problem !== undefined;
    this.#options.onProblem(problem);
  }
}
