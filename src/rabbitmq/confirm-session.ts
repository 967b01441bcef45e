import { HoldfastError } from '../kernel/error.ts';
import { newId } from '../system/new-id.ts';
import type { OutboundMessage, PublishResult } from '../transport/broker.ts';
import type { AmqpConfirmChannel } from './amqp-client.ts';
import { PLACE_HEADER, propertiesOf } from './amqp-message.ts';

/** What a session publishes with. */
export interface SessionOptions {
  readonly transport: string;
  readonly exchangeOf: (type: string, isDead: boolean) => string;
  /** A message that reaches no queue has failed. */
  readonly mandatory: boolean;
}

const PUBLISHED: PublishResult = { kind: 'published' };

/** A channel with confirms. One batch at a time: what the broker refuses closes the channel, with all that is on its way. */
export class ConfirmSession {
  readonly channel: AmqpConfirmChannel;
  readonly #options: SessionOptions;
  readonly #returned = new Set<string>();
  #error: Error | undefined;
  #isClosed = false;

  constructor(channel: AmqpConfirmChannel, options: SessionOptions) {
    this.channel = channel;
    this.#options = options;
    // Without a listener it ends the process.
    channel.on('error', (error) => void (this.#error ??= error));
    channel.on('close', () => void (this.#isClosed = true));
    channel.on('return', ({ properties: { headers } }) => void this.#returned.add(String(headers?.[PLACE_HEADER])));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Why the broker closed the channel. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Sends all, then waits for their confirms. Nothing for those of which it cannot be told, because the channel was closed. */
  async send(messages: readonly OutboundMessage[]): Promise<readonly (PublishResult | undefined)[]> {
    this.#returned.clear();
    const sent = await Promise.all(messages.map((message) => this.#send(message)));
    return sent.map((outcome, at) => {
      if (outcome === 'confirmed') return PUBLISHED;
      if (typeof outcome === 'string')
        return this.#failed(messages[at], 'no queue is bound for it; start who consumes it');
      if (this.#isClosed) return undefined;
      const isNack = outcome.message === 'message nacked';
      return this.#failed(messages[at], isNack ? 'its queue does not take it, it may be full' : outcome.message);
    });
  }

  #send(message: OutboundMessage): Promise<'confirmed' | 'returned' | Error> {
    const { exchangeOf, mandatory } = this.#options;
    const { type, isDead, body } = message;
    const place = newId();
    return new Promise((resolve) => {
      // The broker sends a message back before it confirms it.
      const settle = (error: unknown): void => {
        if (error) resolve(error as Error);
        else resolve(this.#returned.has(place) ? 'returned' : 'confirmed');
      };
      const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const properties = { ...propertiesOf(message, place), mandatory };
      try {
        this.channel.publish(exchangeOf(type, isDead), type, content as never, properties, settle);
      } catch (error) {
        // A name or the headers are longer than the protocol has room for.
        settle(error);
      }
    });
  }

  #failed(message: OutboundMessage | undefined, problem: string): PublishResult {
    const { transport } = this.#options;
    const place = `a message of type ${JSON.stringify(message?.type)}`;
    return { kind: 'failed', error: new HoldfastError('BROKER_REFUSED', { transport, place, problem }) };
  }
}
