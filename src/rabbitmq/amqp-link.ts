import type { Effects } from '../kernel/effects.ts';
import { within } from '../transport/within.ts';
import type { AmqpChannel, AmqpConnect, AmqpConnection } from './amqp-client.ts';

/** How the broker is reached. Addresses are tried in turn. */
export interface AmqpAddress {
  readonly connect: AmqpConnect;
  readonly addresses: readonly (string | object)[];
  readonly socketOptions: object;
}

// A server that says nothing is given up after two to three of these.
const HEARTBEAT_S = 4;
const CONNECT_MS = 10_000;
const CLOSE_MS = 2_000;

/** One connection: it lives once. When it ends, `ended` says why; whoever needs another opens another. */
export class AmqpLink {
  readonly connection: AmqpConnection;
  /** Resolves when it has ended, by whoever's will. */
  readonly ended: Promise<Error>;
  readonly #effects: Effects;
  #isEnded = false;
  #isBlocked = false;

  constructor(connection: AmqpConnection, effects: Effects) {
    this.connection = connection;
    this.#effects = effects;
    this.ended = new Promise((resolve) => {
      let reason: Error | undefined;
      // Without a listener it ends the process. What it says comes before the close.
      connection.on('error', (error) => void (reason ??= error));
      connection.on('close', (error) => {
        this.#isEnded = true;
        // After a heartbeat was missed the socket is only half closed, and waits for a server that hangs.
        this.#destroy();
        resolve(reason ?? error ?? new Error('the connection was closed'));
      });
    });
    connection.on('blocked', () => void (this.#isBlocked = true));
    connection.on('unblocked', () => void (this.#isBlocked = false));
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The broker takes nothing at the moment: it is short of memory or disk. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /**
   * Ends it, with the broker's consent or without. May be called twice. What was last said on these channels is heard first: the
   * library lets the end of a connection overtake it.
   */
  async close(...channels: readonly AmqpChannel[]): Promise<void> {
    if (this.#isEnded) return;
    const timer = this.#effects.setTimer(() => this.#destroy(), CLOSE_MS);
    try {
      const heard = Promise.all(channels.map(async (channel) => channel.close()));
      await Promise.race([heard.catch(() => undefined), this.ended]);
      await Promise.race([this.connection.close().catch(() => undefined), this.ended]);
    } finally {
      this.#effects.clearTimer(timer);
      this.#destroy();
    }
  }

  /** The library has no way to cut a connection: closing one asks the server, which may hang. */
  #destroy(): void {
    const { stream } = (this.connection.connection ?? {}) as { stream?: { destroy?(error?: Error): void } };
    stream?.destroy?.(this.#isEnded ? undefined : new Error('the connection was cut'));
  }
}

/** Opens connections, each to the next address after one that failed. */
export class AmqpLinks {
  readonly #address: AmqpAddress;
  readonly #effects: Effects;
  #next = 0;

  constructor(address: AmqpAddress, effects: Effects) {
    this.#address = address;
    this.#effects = effects;
  }

  async open(): Promise<AmqpLink> {
    const { connect, addresses, socketOptions } = this.#address;
    const address = addresses[this.#next % addresses.length] ?? '';
    const opening = connect(withHeartbeat(address), { timeout: CONNECT_MS, noDelay: true, ...socketOptions });
    try {
      return new AmqpLink(await within(this.#effects, opening), this.#effects);
    } catch (error) {
      this.#next += 1;
      // One that comes too late is nobody's.
      opening.then(
        (late) => new AmqpLink(late, this.#effects).close(),
        () => undefined,
      );
      throw error;
    }
  }
}

function withHeartbeat(address: string | object): string | object {
  if (typeof address === 'object') return { heartbeat: HEARTBEAT_S, ...address };
  if (/[?&]heartbeat=/.test(address)) return address;
  return `${address}${address.includes('?') ? '&' : '?'}heartbeat=${HEARTBEAT_S}`;
}
