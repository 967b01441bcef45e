import type { Effects } from '../kernel/effects.ts';
import { within } from '../transport/within.ts';
import { openBySockets } from './own-sockets.ts';
import {
  type JetStreamClient,
  type JetStreamManager,
  loadLibrary,
  type LoadedLibrary,
  type NatsConnection,
  type NatsLibrary,
} from './nats-library.ts';

/** How the servers are reached. */
export interface NatsAddress {
  readonly servers: string | readonly string[];
  /** Passed on to the library's `connect`. */
  readonly connection: object;
  /** Passed on to JetStream: `domain`, `apiPrefix`. */
  readonly jetstream: object;
  readonly client: NatsLibrary | undefined;
}

// A server that says nothing is given up after two to three of these.
const PING_MS = 4_000;
// Longer than the limit for an answer, which tells what it was. Of several servers each has a part of it.
const CONNECT_MS = 12_000;
const CONNECT_ONE_MS = 3_000;
const CLOSE_MS = 2_000;
/** How long one answer of JetStream may take. Shorter than the limit for a whole batch, so that the error that names it is heard. */
export const ANSWER_MS: number = 8_000;

/**
 * One connection: it lives once. The library does not come back by itself: what was on its way is then known to be unknown, and
 * whoever needs another connection opens another. When it ends, `ended` says why.
 */
export class NatsLink {
  readonly library: LoadedLibrary;
  readonly connection: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** Resolves when it has ended, by whoever's will. */
  readonly ended: Promise<Error>;
  readonly #effects: Effects;

  constructor(
    parts: {
      readonly library: LoadedLibrary;
      readonly connection: NatsConnection;
      readonly stream: JetStreamClient;
      readonly manager: JetStreamManager;
    },
    effects: Effects,
  ) {
    this.library = parts.library;
    this.connection = parts.connection;
    this.stream = parts.stream;
    this.manager = parts.manager;
    this.#effects = effects;
    this.ended = parts.connection.closed().then(reasonOf, reasonOf);
  }

  get isEnded(): boolean {
    return this.connection.isClosed();
  }

  /** Ends it. What was said on it is sent first, where the server still hears it. May be called twice. */
  async close(): Promise<void> {
    if (this.isEnded) return;
    await within(this.#effects, this.connection.flush(), CLOSE_MS).catch(() => undefined);
    await within(this.#effects, this.connection.close(), CLOSE_MS).catch(() => undefined);
  }
}

function reasonOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the connection to NATS was closed');
}

/** Opens connections. */
export class NatsLinks {
  readonly #address: NatsAddress;
  readonly #effects: Effects;

  constructor(address: NatsAddress, effects: Effects) {
    this.#address = address;
    this.#effects = effects;
  }

  load(): Promise<LoadedLibrary> {
    return loadLibrary(this.#address.client);
  }

  async open(): Promise<NatsLink> {
    const { servers, connection: given, jetstream: options } = this.#address;
    const library = await this.load();
    const several = typeof servers === 'string' ? [servers] : [...servers];
    const { opened, cut } = openBySockets(() =>
      library.connect({
        name: 'holdfast',
        timeout: several.length > 1 ? CONNECT_ONE_MS : CONNECT_MS,
        pingInterval: PING_MS,
        maxPingOut: 2,
        ...given,
        servers: several,
        reconnect: false,
      }),
    );
    try {
      const connection = await within(this.#effects, opened);
      // Nothing is asked: whether JetStream is there is seen by the first that needs it, and told with its place.
      const manager = await library.jetstreamManager(connection, {
        timeout: ANSWER_MS,
        checkAPI: false,
        ...options,
      });
      const stream = library.jetstream(connection, { timeout: ANSWER_MS, ...options });
      return new NatsLink({ library, connection, stream, manager }, this.#effects);
    } catch (error) {
      cut();
      // One that comes too late is nobody's.
      opened.then(
        (late) => late.close(),
        () => undefined,
      );
      throw error;
    }
  }
}
