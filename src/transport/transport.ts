import type { Effects } from '../kernel/effects.ts';
import type { ForeignMessage, SendResult } from '../outbox/outbox-store.ts';
import type { HandlerDefinition } from '../relay/handler.ts';
import type { Copied } from '../relay/mirror.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import type { DeadLetter } from '../relay/relay-store.ts';

/** The service that uses a transport. */
export interface TransportHost {
  readonly service: string;
  readonly effects: Effects;
  readonly tell: RelayObserver;
  /** The types that handlers of this process take from the transport. */
  readonly types: readonly string[];
  /** Those of these types that handlers of other processes of this service take, as the database says now. */
  readonly taken: (types: readonly string[]) => Promise<readonly string[]>;
  /** Replays dead letters whose copies came back, where they are still dead in that cycle. Gives the ids that are known here. */
  readonly takeBack: (copies: readonly { readonly id: string; readonly cycle: number }[]) => Promise<readonly string[]>;
  /** Stores messages that came in, each once however often it comes. */
  readonly receive: (messages: readonly ForeignMessage[]) => Promise<readonly SendResult[]>;
}

/** A handler of a transport, and what messages for it are taken as. */
export interface TransportHandler<Tx> {
  readonly handler: HandlerDefinition<Tx>;
  readonly takenAs: string;
}

/** What takes messages in. */
export interface Receiving {
  /** May be called twice. */
  stop(): Promise<void>;
}

/**
 * A way for messages to leave a service and to come to it: `redisStreams()`, `rabbitmq()`, `kafka()`, `nats()`, or `transportOf()` with a
 * broker of your own.
 */
export interface Transport {
  /** Short, lower case: part of the names of its handlers. */
  readonly name: string;
  /** `to-<name>` publishes; `from-<name>` keeps what came in and could not be read, and where it runs, messages are taken in. */
  handlers<Tx>(host: TransportHost): { readonly to: TransportHandler<Tx>; readonly from: TransportHandler<Tx> };
  /** Does what takes long and may be done before the work begins. */
  load?(): Promise<unknown>;
  /** Makes copies of dead letters where the broker's own tools look for them. Rejects when it cannot be told of which there is one. */
  copyDead(host: TransportHost, letters: readonly DeadLetter[]): Promise<Copied>;
  /** Begins to take in messages of the types of the host; `isDead`: those that the broker keeps as dead letters. */
  receive(host: TransportHost, which: { readonly isDead: boolean }): Receiving;
  /** Cuts the connections it publishes by. */
  close(): Promise<void>;
}
