import { OptionCheck } from '../kernel/check-options.ts';
import { systemEffects } from '../system/effects.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  Decode,
  OutboundMessage,
  PublishResult,
} from '../transport/broker.ts';
import { PlaceGroup } from '../transport/place-group.ts';
import { transportOf } from '../transport/transport-of.ts';
import type { Transport } from '../transport/transport.ts';
import { topicOfType } from '../transport/topic-of-type.ts';
import { AckedPublisher } from './acked-publisher.ts';
import type { NatsLibrary } from './nats-library.ts';
import { NatsLinks } from './nats-link.ts';
import { StreamReader } from './stream-reader.ts';
import { Topology } from './topology.ts';

/** What `nats` takes. Only the servers must be there. */
export interface NatsOptions {
  /** `nats://host:port`, or `tls://…`; several are the servers of a cluster. */
  readonly servers: string | readonly string[];
  /** Passed on to the library's `connect`: `user` and `pass`, `token`, `authenticator`, `tls`. */
  readonly connection?: object | undefined;
  /** Passed on to JetStream: `domain`, `apiPrefix`. */
  readonly jetstream?: object | undefined;
  /** The libraries, where they are not to be imported: `{ ...transport, ...jetstream }`. */
  readonly client?: NatsLibrary | undefined;
  /** What tells it from other transports of a service. Default `nats`. */
  readonly name?: string | undefined;
  /** The stream of a type. Default: what stands before its last dot, `order` for `order.placed`. What a name may not have becomes `-`. */
  readonly stream?: ((type: string) => string) | undefined;
  /** Stands before the names of streams. Default none. */
  readonly prefix?: string | undefined;
  /** False: streams and consumers are made by others; here they are only used. Default true. */
  readonly declares?: boolean | undefined;
  /** How many servers have a copy of each stream, 1 to 5. Default 1: that is a server that may not be lost. */
  readonly replicas?: number | undefined;
  /** For so long a stream knows the ids it has had, in milliseconds: 30 seconds to a day. Default: two minutes. */
  readonly duplicateWindowMs?: number | undefined;
  /** Messages that all consumers have acknowledged are taken away when they are this old, in milliseconds. Default: a day. */
  readonly keepMs?: number | undefined;
  readonly decode?: Decode | undefined;
}

const NAMES =
  'servers connection jetstream client name stream prefix declares replicas duplicateWindowMs keepMs decode';
const DAY_MS = 86_400_000;
const WINDOW_MS = 120_000;
// A batch is given up after ten seconds, and whoever takes over waits for a lease of ten: what comes again comes within that.
const SHORTEST_WINDOW_MS = 30_000;
const MOST_REPLICAS = 5;

/**
 * NATS JetStream, 2.9 or later. Each message is confirmed by its stream, which leaves out what it has had; in each group one consumer at a
 * time reads a stream: it stores what it reads, which is quick, and all processes share the handling of what is stored.
 */
export function nats(options: NatsOptions): Transport {
  return transportOf(natsBroker(options));
}

/** The broker of `nats`. */
export function natsBroker(options: NatsOptions): Broker {
  const check = new OptionCheck('nats()');
  check.known(options, NAMES.split(' '));
  const { servers, client, replicas = 1, duplicateWindowMs = WINDOW_MS, keepMs = DAY_MS } = options;
  const addresses = (Array.isArray(servers) ? servers : [servers]) as readonly unknown[];
  if (addresses.length === 0 || !addresses.every((one) => typeof one === 'string' && one !== ''))
    check.refuse('servers', servers, "write 'nats://localhost:4222', or a list of such");
  const whole = { min: 1, max: MOST_REPLICAS, integer: true };
  check.number('replicas', replicas, { ...whole, write: `write a whole number from 1 to ${MOST_REPLICAS}` });
  check.number('duplicateWindowMs', duplicateWindowMs, {
    min: SHORTEST_WINDOW_MS,
    max: DAY_MS,
    write: `write milliseconds from ${SHORTEST_WINDOW_MS}, which is how long a message may come again, to a day`,
  });
  check.number('keepMs', keepMs, { min: 0, max: Infinity, write: 'write milliseconds from 0, or Infinity' });
  if (client !== undefined && !isLibrary(client))
    check.refuse(
      'client',
      client,
      "pass { ...transport, ...jetstream } of '@nats-io/transport-node' and '@nats-io/jetstream'",
    );
  check.done();
  return new NatsBroker({ ...options, replicas, duplicateWindowMs, keepMs });
}

type Parts = NatsOptions & {
  readonly replicas: number;
  readonly duplicateWindowMs: number;
  readonly keepMs: number;
};

class NatsBroker implements Broker {
  readonly name: string;
  readonly keepsOrder = false;
  readonly decode: Decode | undefined;
  readonly #keepMs: number;
  readonly #links: NatsLinks;
  readonly #topology: Topology;
  readonly #publisher: AckedPublisher;
  /** Places that readers of this process could not give back, because their connection was gone. */
  readonly #left = new Map<string, number>();

  constructor(parts: Parts) {
    const { name = 'nats', servers, connection = {}, jetstream = {}, client, stream = topicOfType } = parts;
    const { prefix = '', declares = true, replicas, duplicateWindowMs, keepMs } = parts;
    this.name = name;
    this.decode = parts.decode;
    this.#keepMs = keepMs;
    this.#links = new NatsLinks({ servers, connection, jetstream, client }, systemEffects);
    const times = { duplicateWindowMs, keepMs };
    const naming = { streamOf: stream, prefix, declares, replicas };
    this.#topology = new Topology({ transport: name, ...naming, ...times, effects: systemEffects });
    this.#publisher = new AckedPublisher({
      transport: name,
      links: this.#links,
      topology: this.#topology,
      effects: systemEffects,
    });
  }

  load(): Promise<unknown> {
    return this.#links.load();
  }

  publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    return this.#publisher.publish(messages);
  }

  async consume(request: ConsumeRequest): Promise<Consumption> {
    const link = await this.#links.open();
    const parts = {
      link,
      topology: this.#topology,
      left: this.#left,
      keepMs: this.#keepMs,
      effects: systemEffects,
    };
    const group = new PlaceGroup({
      ...parts,
      request,
      places: this.#topology.placesOf(request.group, request.types, request.isDead),
      nameOf: ({ stream }) => stream,
      readerOf: (place, events) => new StreamReader({ ...parts, ...events, place }),
      close: () => link.close(),
    });
    await group.start();
    return group;
  }

  close(): Promise<void> {
    return this.#publisher.close();
  }
}

function isLibrary(client: Partial<NatsLibrary>): boolean {
  const { connect, headers, jetstream, jetstreamManager } = client;
  return [connect, headers, jetstream, jetstreamManager].every((one) => typeof one === 'function');
}
