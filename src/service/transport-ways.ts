import type { HandlerDefinition } from '../relay/handler.ts';
import type { MirrorOptions } from '../relay/mirror.ts';
import type { Receiving, Transport, TransportHandler, TransportHost } from '../transport/transport.ts';
import type { TransportRoutes } from './transport-routes.ts';

/** A transport as one service uses it. */
interface Way<Tx> {
  readonly transport: Transport;
  readonly host: TransportHost;
  /** Publishes what is sent here. */
  readonly to: TransportHandler<Tx>;
  /** Where it runs, messages are received. */
  readonly from: TransportHandler<Tx>;
}

/** All ways by which messages leave a service and come to it. */
export class TransportWays<Tx> {
  readonly #routes: TransportRoutes;
  readonly #ways: readonly Way<Tx>[];

  /** `types` are those that the service has handlers for; `host.taken` asks by what messages are taken as. */
  constructor(routes: TransportRoutes, types: readonly string[], host: Omit<TransportHost, 'types'>) {
    this.#routes = routes;
    this.#ways = [...routes.transports].map((transport) => {
      const mine = [...new Set(types)].filter((type) => routes.of(type) === transport);
      const taken: TransportHost['taken'] = async (asked) => {
        const ofHere = asked.filter((type) => routes.of(type) === transport);
        const names = new Set(await host.taken(ofHere.map((type) => routes.handledAs(type))));
        return ofHere.filter((type) => names.has(routes.handledAs(type)));
      };
      const about = { ...host, types: mine, taken };
      const { to, from } = transport.handlers<Tx>(about);
      return { transport, host: about, to, from };
    });
  }

  /** The handlers of the transports, by name. */
  get handlers(): ReadonlyMap<string, HandlerDefinition<Tx>> {
    return new Map(this.#ways.flatMap(({ to, from }) => [to, from]).map(({ handler }) => [handler.name, handler]));
  }

  /** Brings what the transports need. What is not to be had is told when it is used. */
  async load(): Promise<void> {
    await Promise.allSettled(this.#ways.map(async ({ transport }) => transport.load?.()));
  }

  /** What messages for a handler are taken as. */
  readonly subscriptions = ({ name, takes }: HandlerDefinition<Tx>): readonly string[] => {
    for (const { to, from } of this.#ways) {
      for (const { handler, takenAs } of [to, from]) if (handler.name === name) return [takenAs];
    }
    return [...takes.keys()].map((type) => this.#routes.handledAs(type));
  };

  /** Dead letters of handlers that a transport feeds are copied to it. */
  mirrors(handlers: ReadonlyMap<string, HandlerDefinition<Tx>>): readonly MirrorOptions[] {
    return this.#ways.map(({ transport, host, from }) => {
      const isFed = ({ takes }: HandlerDefinition<Tx>): boolean =>
        [...takes.keys()].some((type) => this.#routes.of(type) === transport);
      const fed = [...handlers.values()].filter(isFed).map(({ name }) => name);
      return {
        transport: transport.name,
        // What could not be read is of no type that is routed, and came over this transport all the same.
        handlers: new Set([...fed, from.handler.name]),
        copy: (letters) => transport.copyDead(host, letters),
      };
    });
  }

  /** Begins to take in the dead letters that brokers keep. */
  importDead(): readonly Receiving[] {
    return this.#ways
      .filter(({ host }) => host.types.length > 0)
      .map(({ transport, host }) => transport.receive(host, { isDead: true }));
  }

  /** Begins to receive where that is among what runs here. Gives what ends it all; nothing: there is nothing to end. */
  open(handlers: ReadonlyMap<string, HandlerDefinition<Tx>>): OpenWays | undefined {
    const isHere = ({ handler }: TransportHandler<Tx>): boolean => handlers.has(handler.name);
    const used = this.#ways.filter(({ to, from }) => isHere(to) || isHere(from));
    if (used.length === 0) return undefined;
    const receiving = used
      .filter(({ from, host }) => isHere(from) && host.types.length > 0)
      .map(({ transport, host }) => transport.receive(host, { isDead: false }));
    return {
      stopReceiving: async () => void (await Promise.all(receiving.map((one) => one.stop()))),
      close: async () =>
        void (await Promise.all(used.map(({ transport }) => transport.close().catch(() => undefined)))),
    };
  }
}

/** Transports that are in use. */
export interface OpenWays {
  /** Nothing comes in any more. */
  stopReceiving(): Promise<void>;
  close(): Promise<void>;
}
