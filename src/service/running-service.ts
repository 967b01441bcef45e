import type { RunningRelay } from '../relay/relay.ts';
import type { OpenWays } from './transport-ways.ts';

/** A relay with what brings it work, or lets its work out: the transports of a service, the clock and sockets of deliveries. */
export class RunningService implements RunningRelay {
  readonly #relay: RunningRelay;
  readonly #ways: OpenWays;
  #stopping: Promise<void> | undefined;

  constructor(relay: RunningRelay, ways: OpenWays) {
    this.#relay = relay;
    this.#ways = ways;
  }

  get workerId(): string {
    return this.#relay.workerId;
  }

  whenIdle(): Promise<void> {
    return this.#relay.whenIdle();
  }

  stop(options?: { readonly drainMs?: number | undefined }): Promise<void> {
    this.#stopping ??= this.#stop(options);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Takes nothing more in before it lets out what it has. */
  async #stop(options: { readonly drainMs?: number | undefined } | undefined): Promise<void> {
    try {
      await this.#ways.stopReceiving();
      await this.#relay.stop(options);
    } finally {
      await this.#ways.close();
    }
  }
}
