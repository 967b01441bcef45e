import type { Broker } from '../../transport/broker.ts';

/** What a case needs of the transport it is run on: a name space of its own at the broker, or its cases see each other's messages. */
export interface TransportHarness {
  /** Another way to the same broker, as another process would have it. Each is closed by the case. */
  open(): Broker;
  /** A size in bytes that the broker refuses; nothing: it takes any. */
  readonly tooLarge?: number | undefined;
}

/** One promise of a transport. */
export interface TransportCase {
  readonly name: string;
  /** Throws when the promise is not kept. */
  run(harness: TransportHarness): Promise<void>;
}
