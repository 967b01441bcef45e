import type {
  ConsumeRequest,
  Consumption,
  Decode,
  InboundMessage,
  OutboundMessage,
  PublishResult,
  Broker,
} from '../transport/broker.ts';
import { topicOfType } from '../transport/topic-of-type.ts';

/** What `localBroker` takes. Every field may be left out. */
export interface LocalBrokerOptions {
  readonly name?: string | undefined;
  readonly decode?: Decode | undefined;
  /** The topic of a type. Default: what stands before its last dot. */
  readonly topic?: ((type: string) => string) | undefined;
  /** Messages larger than this are refused. Default: a megabyte. */
  readonly maxBytes?: number | undefined;
}

/** A broker in the memory of this process, for tests: logs that keep everything, groups that share what is in them. */
export interface LocalBroker extends Broker {
  /** While true, nothing is answered: publishing and consuming reject, and who consumes has lost its connection. */
  isAway: boolean;
  /** What was published, in its order, by topic; dead letters under `<topic>.dlq`. */
  published(topic: string): readonly OutboundMessage[];
}

interface Group {
  /** The next place in the log. */
  next: number;
  /** Who has which part of the log that is not acknowledged yet. One at a time, so that order holds. */
  holder: LocalConsumption | undefined;
  readonly waiting: Set<LocalConsumption>;
}

const MEGABYTE = 1_048_576;
const BATCH = 100;

/** Makes a broker in memory. Each message is given to every group, in order, again and again until it is acknowledged. */
export function localBroker(options: LocalBrokerOptions = {}): LocalBroker {
  const { name = 'local', decode, topic = topicOfType, maxBytes = MEGABYTE } = options;
  const topics = new Map<string, Topic>();
  const topicNamed = (wanted: string): Topic => {
    const known = topics.get(wanted) ?? new Topic(wanted);
    topics.set(wanted, known);
    return known;
  };
  let isAway = false;
  const consumptions = new Set<LocalConsumption>();
  const topicOf = (type: string, isDead: boolean): Topic => topicNamed(isDead ? `${topic(type)}.dlq` : topic(type));
  return {
    name,
    keepsOrder: true,
    decode,
    get isAway() {
      return isAway;
    },
    set isAway(value) {
      isAway = value;
      if (value) for (const consumption of consumptions) consumption.lose(away());
    },
    published: (wanted) => topics.get(wanted)?.log ?? [],
    publish: async (messages) => {
      if (isAway) throw away();
      const refusedKeys = new Set<string>();
      return messages.map((message): PublishResult => {
        const isTooLarge = message.body.length > maxBytes;
        if (isTooLarge && message.key !== undefined) refusedKeys.add(message.key);
        if (isTooLarge || (message.key !== undefined && refusedKeys.has(message.key)))
          return { kind: 'failed', error: new RangeError(`larger than ${maxBytes} bytes`) };
        topicOf(message.type, message.isDead).append(message);
        return { kind: 'published' };
      });
    },
    consume: async (request) => {
      if (isAway) throw away();
      const wanted = new Set(request.types.map((type) => topicOf(type, request.isDead)));
      const consumption = new LocalConsumption(request, [...wanted], () => consumptions.delete(consumption));
      consumptions.add(consumption);
      return consumption;
    },
    close: async () => undefined,
  };
}

function away(): Error {
  return Object.assign(new Error('the broker is away'), { code: 'ECONNREFUSED' });
}

/** A log, and how far each group has come in it. */
class Topic {
  readonly log: OutboundMessage[] = [];
  readonly #name: string;
  readonly #groups = new Map<string, Group>();

  constructor(name: string) {
    this.#name = name;
  }

  append(message: OutboundMessage): void {
    this.log.push(message);
    for (const group of this.#groups.values()) this.#offer(group);
  }

  join(consumption: LocalConsumption): void {
    const { group: name } = consumption.request;
    const group = this.#groups.get(name) ?? { next: 0, holder: undefined, waiting: new Set() };
    this.#groups.set(name, group);
    group.waiting.add(consumption);
    this.#offer(group);
  }

  leave(consumption: LocalConsumption): void {
    const group = this.#groups.get(consumption.request.group);
    group?.waiting.delete(consumption);
    if (group?.holder !== consumption) return;
    group.holder = undefined;
    this.#offer(group);
  }

  #offer(group: Group): void {
    const [first] = group.waiting;
    if (group.holder || !first || group.next >= this.log.length) return;
    group.holder = first;
    void this.#hand(group, first);
  }

  async #hand(group: Group, consumption: LocalConsumption): Promise<void> {
    const from = group.next;
    const batch = this.log.slice(from, from + BATCH);
    const isTaken = await consumption.take(batch.map((message, place) => this.#inbound(message, from + place)));
    if (group.holder !== consumption) return;
    group.holder = undefined;
    if (isTaken) group.next = from + batch.length;
    // The others get their turn.
    if (group.waiting.delete(consumption) && isTaken) group.waiting.add(consumption);
    this.#offer(group);
  }

  #inbound({ key, attributes, headers, body }: OutboundMessage, place: number): InboundMessage {
    return {
      key,
      attributes: { ...attributes },
      headers: { ...headers },
      body,
      sourceId: `local:${this.#name}@${place}`,
    };
  }
}

class LocalConsumption implements Consumption {
  readonly request: ConsumeRequest;
  readonly #topics: readonly Topic[];
  readonly #onEnd: () => void;
  #isOver = false;

  constructor(request: ConsumeRequest, topics: readonly Topic[], onEnd: () => void) {
    this.request = request;
    this.#topics = topics;
    this.#onEnd = onEnd;
    for (const topic of topics) topic.join(this);
  }

  /** False: it was not stored, and must be given again. */
  async take(batch: readonly InboundMessage[]): Promise<boolean> {
    try {
      await this.request.onBatch(batch);
      return !this.#isOver;
    } catch (error) {
      this.lose(error);
      return false;
    }
  }

  lose(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.request.onLost(error);
  }

  async stop(): Promise<void> {
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
    for (const topic of this.#topics) topic.leave(this);
  }
}
