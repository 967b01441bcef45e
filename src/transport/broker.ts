/** A message as brokers carry it. */
export interface WireMessage {
  /** Messages of one key keep their order. */
  readonly key: string | undefined;
  /** The context attributes of CloudEvents 1.0, by their names, without the prefix a broker's binding gives them. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Text headers beside them: `traceparent`, `tracestate`, and what the sender gave. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A message on its way to a broker. */
export interface OutboundMessage extends WireMessage {
  /** Its type: the transport chooses the topic, stream or routing key by it. */
  readonly type: string;
  /** A copy of a dead letter: it goes where the dead letters of its type go. */
  readonly isDead: boolean;
  /**
   * How often an operator has sent it on its way again. A broker that leaves out what it has had before must tell these apart: they
   * are meant. Default 0; the same however often one sending is tried.
   */
  readonly resends?: number | undefined;
}

/** A message as it was found at a broker. */
export interface InboundMessage extends WireMessage {
  /** Where it was found: `kafka:topic@partition@offset`, `amqp:exchange@routingKey@id`, `redis:stream@id`, `nats:stream@seq@time`. */
  readonly sourceId: string;
  /**
   * Tells a place from one of the same name before it: the id of a topic, which is another once the topic was deleted and created again.
   * Source ids repeat then; together they tell messages apart that have no id. Nothing: source ids do not repeat.
   */
  readonly incarnation?: string | undefined;
}

/** What became of one message of a batch. `failed`: the broker refuses this one, and would again. */
export type PublishResult = { readonly kind: 'published' } | { readonly kind: 'failed'; readonly error: unknown };

/** What a consumer wants. */
export interface ConsumeRequest {
  /** Consumers of one group share the messages; each group gets all of them. */
  readonly group: string;
  /** Types it has handlers for. A transport may give others too where they share a topic. */
  readonly types: readonly string[];
  /** Takes the dead letters of these types instead. */
  readonly isDead: boolean;
  /**
   * Resolves when all of them are stored: only then may they be acknowledged. Messages of one key are handed over in their order, and
   * a batch only after the one before it. Rejects when the consumer stops: then they may not be acknowledged.
   */
  readonly onBatch: (batch: readonly InboundMessage[]) => Promise<void>;
  /**
   * Is told of one place it reads, a topic, queue or stream, that it cannot be read, while the others are; and, without a problem,
   * that it is. A place that is missing or closed is looked for again by the broker. One with a single place, or all of whose places are
   * closed, rejects or is lost instead.
   */
  readonly onPlace: (place: string, problem: unknown) => void;
  /** Is told once that nothing more will come: the connection is lost, or what it reads is gone. */
  readonly onLost: (error: unknown) => void;
}

/** A consumer at work. */
export interface Consumption {
  /** Takes nothing more, and gives back what is not acknowledged. May be called twice. */
  stop(): Promise<void>;
}

/**
 * A broker, as a transport needs it. It gives every message to every group at least once, and in order within a key; everything else is made of
 * that: nothing is acknowledged before it is stored, and what is stored twice has one effect.
 */
export interface Broker {
  /** Short, lower case: part of the names of the handlers that publish and receive. */
  readonly name: string;
  /**
   * True: of a batch, what comes after a failed one of its key has failed too, so a batch may hold several of a key. False: it may
   * not, and is cut into several. Copies of dead letters have no order.
   */
  readonly keepsOrder: boolean;
  /**
   * True: a copy of a dead letter without a type (`''`), of a message that could not be read, is published too, beside the place where it was
   * found (its header `dlq-source`). Otherwise it is never handed over.
   */
  readonly takesUntyped?: boolean | undefined;
  /** How a message that was not written by Holdfast is read, a CloudEvent of others too; nothing: as CloudEvents, or not at all. */
  readonly decode?: Decode | undefined;
  /**
   * Resolves when the broker has confirmed, or refused for good, each of them; results in their order. Rejects when that cannot be
   * told, because the broker is away or the connection was lost: the same messages are then handed over again.
   */
  publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]>;
  /** Brings the library that speaks to it, if that is not here yet: it stops the process for seconds, and is asked for before the work begins. */
  load?(): Promise<unknown>;
  /** Resolves when it consumes. Rejects when it cannot: it is tried again after a while. */
  consume(request: ConsumeRequest): Promise<Consumption>;
  /** Cuts the connections it publishes by. May be called twice, and at any time: the next call makes new ones. */
  close(): Promise<void>;
}

/** What a message of foreign make means. */
export interface Decoded {
  readonly type: string;
  /** Any JSON value. */
  readonly payload: unknown;
  /** What tells it from others of its source. Default: where it was found. */
  readonly id?: string | undefined;
  readonly source?: string | undefined;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Reads a message. `undefined`: none of ours, it is acknowledged and left alone. What it throws makes a dead letter of it. */
export type Decode = (message: InboundMessage) => Decoded | undefined;
