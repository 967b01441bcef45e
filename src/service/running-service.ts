import type { RunningRelay } from '../relay/relay.ts';
import type { OpenWays } from './transport-ways.ts';

/** A relay with the transports it uses. */
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
    await this.#ways.stopReceiving();
    await this.#relay.stop(options);
    await this.#ways.close();
  }
}
