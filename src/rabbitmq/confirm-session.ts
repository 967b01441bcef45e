import { HoldfastError } from '../kernel/error.ts';
import { newId } from '../system/new-id.ts';
import type { OutboundMessage, PublishResult } from '../transport/broker.ts';
import type { AmqpConfirmChannel } from './amqp-client.ts';
import { PLACE_HEADER, propertiesOf } from './amqp-message.ts';
import type { Place } from './topology.ts';

/** What a session publishes with. */
export interface SessionOptions {
  readonly transport: string;
  readonly placeOf: (message: OutboundMessage) => Place;
  /** A message that reaches no queue has failed. */
  readonly mandatory: boolean;
}

type Sent = 'confirmed' | 'returned' | Error;

const PUBLISHED: PublishResult = { kind: 'published' };

/** A channel with confirms. One batch at a time: what the broker refuses closes the channel, with all that is on its way. */
export class ConfirmSession {
  readonly channel: AmqpConfirmChannel;
  readonly #options: SessionOptions;
  readonly #returned = new Set<string>();
  readonly #id = newId();
  #count = 0;
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
    const sent: (Sent | undefined)[] = [];
    // One promise for all of them: the end of the last.
    await new Promise<void>((resolve) => {
      let left = messages.length;
      const settle = (at: number, outcome: Sent): void => {
        // Of what could not be written to the channel it may be told twice.
        if (sent[at] !== undefined) return;
        sent[at] = outcome;
        left -= 1;
        if (left === 0) resolve();
      };
      for (const [at, message] of messages.entries()) this.#send(message, (outcome) => settle(at, outcome));
      if (messages.length === 0) resolve();
    });
    return messages.map((message, at) => {
      const outcome = sent[at];
      if (outcome === 'confirmed') return PUBLISHED;
      if (outcome === 'returned') return this.#failed(message, 'no queue is bound for it; start who consumes it');
      if (this.#isClosed || !outcome) return undefined;
      const isNack = outcome.message === 'message nacked';
      if (isNack) return this.#failed(message, 'its queue does not take it, it may be full');
      return this.#failed(message, outcome.message, new RangeError(outcome.message, { cause: outcome }));
    });
  }

  #send(message: OutboundMessage, settle: (outcome: Sent) => void): void {
    const { placeOf, mandatory } = this.#options;
    const { body } = message;
    const { exchange, routingKey } = placeOf(message);
    const place = `${this.#id}/${(this.#count += 1)}`;
    // The broker sends a message back before it confirms it.
    const onConfirm = (error: unknown): void =>
      settle(error ? (error as Error) : this.#returned.has(place) ? 'returned' : 'confirmed');
    const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const properties = { ...propertiesOf(message, place), mandatory };
    try {
      this.channel.publish(exchange, routingKey, content as never, properties, onConfirm);
    } catch (error) {
      // A name or the headers are longer than the protocol has room for.
      onConfirm(error);
    }
  }

  #failed({ type }: OutboundMessage, problem: string, cause?: RangeError): PublishResult {
    const { transport } = this.#options;
    const place = `a message of type ${JSON.stringify(type)}`;
    return { kind: 'failed', error: new HoldfastError('BROKER_REFUSED', { transport, place, problem }, { cause }) };
  }
}
