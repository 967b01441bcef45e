import type { Effects } from '../kernel/effects.ts';
import { type HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { OutboundMessage, PublishResult } from '../transport/broker.ts';
import { within } from '../transport/within.ts';
import type { NatsHeaders } from './nats-library.ts';
import { ANSWER_MS, type NatsLink, type NatsLinks } from './nats-link.ts';
import { headersOf, messageIdOf } from './nats-message.ts';
import { isUnheard, refusal } from './refusal.ts';
import type { Topology } from './topology.ts';

/** What a publisher works with. */
export interface PublisherOptions {
  readonly transport: string;
  readonly links: NatsLinks;
  readonly topology: Topology;
  readonly effects: Effects;
}

/** A connection, and the streams that were made sure of on it. */
interface Line {
  readonly link: NatsLink;
  readonly declared: Set<string>;
}

const PUBLISHED: PublishResult = { kind: 'published' };

/**
 * Publishes by one connection. All of a batch are on their way at once, and each is done when its stream has confirmed it; that the
 * stream had it before is a confirmation too.
 */
export class AckedPublisher {
  readonly #options: PublisherOptions;
  #line: Promise<Line> | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  async publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const line = await this.#open();
    return within(this.#options.effects, this.#publishAll(line, messages));
  }

  /** May be called at any time: the next batch opens another connection. */
  async close(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    await (await line?.catch(() => undefined))?.link.close();
  }

  async #publishAll(line: Line, messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const refused = await this.#declare(line, messages);
    const sent = messages.map((message): Promise<PublishResult> => {
      const error = refused.get(this.#options.topology.streamOf(message));
      return error ? Promise.resolve({ kind: 'failed', error }) : this.#send(line, message);
    });
    // Of all it must be known what became of them, also where one is known to have failed.
    const settled = await Promise.allSettled(sent);
    return settled.map((outcome) => {
      if (outcome.status === 'fulfilled') return outcome.value;
      throw outcome.reason;
    });
  }

  async #send({ link, declared }: Line, message: OutboundMessage): Promise<PublishResult> {
    const { topology, transport } = this.#options;
    const stream = topology.streamOf(message);
    const msgID = messageIdOf(message);
    try {
      await link.stream.publish(topology.subjectOf(message), message.body, {
        ...(msgID !== undefined && { msgID }),
        headers: this.#headers(link, message),
        timeout: ANSWER_MS,
        expect: { streamName: stream },
      });
      return PUBLISHED;
    } catch (error) {
      // The stream may be gone: the next try makes sure of it, and tells that from a JetStream that is away.
      if (isUnheard(error)) declared.delete(stream);
      const reason = refusal(transport, `a message of type ${JSON.stringify(message.type)}`, error);
      if (isHoldfastError(reason, 'BROKER_REFUSED')) return { kind: 'failed', error: reason };
      throw error;
    }
  }

  #headers({ library }: NatsLink, message: OutboundMessage): NatsHeaders {
    const headers = library.headers();
    for (const [name, value] of headersOf(message)) headers.append(name, value);
    return headers;
  }

  /** Makes sure that there are streams to publish to, and gives back what cannot be used. */
  async #declare(line: Line, messages: readonly OutboundMessage[]): Promise<ReadonlyMap<string, HoldfastError>> {
    const { topology } = this.#options;
    const refused = new Map<string, HoldfastError>();
    for (const stream of new Set(messages.map((message) => topology.streamOf(message)))) {
      if (line.declared.has(stream)) continue;
      try {
        await topology.declareStream(line.link.manager, stream);
        line.declared.add(stream);
      } catch (error) {
        if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
        refused.set(stream, error);
      }
    }
    return refused;
  }

  #open(): Promise<Line> {
    if (this.#line) return this.#line;
    const opening = this.#options.links.open().then((link) => ({ link, declared: new Set<string>() }));
    this.#line = opening;
    const forget = (): void => {
      if (this.#line === opening) this.#line = undefined;
    };
    opening.then(({ link }) => link.ended.then(forget), forget);
    return opening;
  }
}
