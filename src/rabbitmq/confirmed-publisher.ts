import type { Effects } from '../kernel/effects.ts';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { OutboundMessage, PublishResult } from '../transport/broker.ts';
import { within } from '../transport/within.ts';
import type { AmqpLink, AmqpLinks } from './amqp-link.ts';
import { ConfirmSession } from './confirm-session.ts';
import type { Place, Topology } from './topology.ts';

/** What a publisher works with. */
export interface PublisherOptions {
  readonly transport: string;
  readonly links: AmqpLinks;
  readonly topology: Topology;
  readonly mandatory: boolean;
  readonly effects: Effects;
}

// A message that may be too large for the broker goes alone, after the others: those need not go again when it is refused.
const LARGE = 262_144;
/**
 * For so long an exchange that was deleted is left to its readers, who look every two seconds: they make it again and bind their queues.
 * Made again at once, it would take messages while only some of the queues are bound, and the others would never get them.
 */
const RECREATE_MS = 5_000;
const NOT_FOUND = 404;

/** A connection, what was made sure of on it, and channels that wait for work. */
interface Line {
  readonly link: AmqpLink;
  readonly declared: Set<string>;
  readonly idle: ConfirmSession[];
  /** Places that were deleted, and until when they are left to those who read them. */
  readonly deleted: Map<string, { readonly untilMs: number; readonly error: unknown }>;
}

/** Publishes with confirms, by one connection, with a channel for each batch that is under way. */
export class ConfirmedPublisher {
  readonly #options: PublisherOptions;
  #line: Promise<Line> | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  async publish(messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const { transport, effects } = this.#options;
    const line = await this.#open();
    if (line.link.isBlocked) {
      const problem = 'it is short of memory or disk, and says so by itself when it goes on';
      throw new HoldfastError('BROKER_REFUSED', { transport, place: 'everything for now', problem });
    }
    return within(effects, this.#publishAll(line, messages));
  }

  /** May be called at any time: the next batch opens another connection. */
  async close(): Promise<void> {
    const line = this.#line;
    this.#line = undefined;
    await (await line?.catch(() => undefined))?.link.close();
  }

  async #publishAll(line: Line, messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    const { topology } = this.#options;
    const refused = await this.#declare(line, messages);
    const open = messages.filter((message) => !refused.has(nameOf(topology.placeOf(message))));
    const small = open.filter(({ body }) => body.length < LARGE);
    const results = (await this.#publishOpen(line, small)).values();
    const all: PublishResult[] = [];
    for (const message of messages) {
      const error = refused.get(nameOf(topology.placeOf(message)));
      if (error !== undefined) all.push({ kind: 'failed', error });
      else if (message.body.length < LARGE) all.push(results.next().value as PublishResult);
      else all.push(...(await this.#publishOpen(line, [message])));
    }
    return all;
  }

  /**
   * A message that the broker refuses closes the channel, and the others in the batch may or may not be out. They go again, by halves,
   * until the one that is refused is alone.
   */
  async #publishOpen(line: Line, messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    if (messages.length === 0) return [];
    const session = await this.#session(line);
    const outcomes = await session.send(messages);
    const unknown = messages.filter((_, at) => outcomes[at] === undefined);
    if (unknown.length === 0) {
      line.idle.push(session);
      return outcomes as readonly PublishResult[];
    }
    if (line.link.isEnded) throw await line.link.ended;
    if (!session.error) throw new Error('the channel was closed');
    line.declared.clear();
    await this.#noteDeleted(line, unknown, session.error);
    const again = (await this.#again(line, unknown, session.error)).values();
    return outcomes.map((outcome) => outcome ?? (again.next().value as PublishResult));
  }

  /** Finds out which places are missing. Messages for them wait; those for others go out. */
  async #noteDeleted(line: Line, messages: readonly OutboundMessage[], reason: Error): Promise<void> {
    const { topology, effects } = this.#options;
    if (!topology.declares || (reason as { readonly code?: unknown }).code !== NOT_FOUND) return;
    const places = new Map(messages.map((message) => [topology.placeOf(message).exchange, topology.placeOf(message)]));
    for (const [name, place] of places) {
      if (place.waiting) continue;
      const session = await this.#session(line);
      try {
        await topology.checkExchange(session.channel, place);
        line.idle.push(session);
      } catch (error) {
        if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
        line.deleted.set(name, { untilMs: effects.monoMs() + RECREATE_MS, error });
      }
    }
  }

  async #again(line: Line, messages: readonly OutboundMessage[], error: Error): Promise<readonly PublishResult[]> {
    const [first] = messages;
    if (messages.length === 1 && first) {
      const place = `a message of type ${JSON.stringify(first.type)}`;
      return [{ kind: 'failed', error: this.#options.topology.refusal(place, error) }];
    }
    const half = Math.ceil(messages.length / 2);
    return [
      ...(await this.#publishAll(line, messages.slice(0, half))),
      ...(await this.#publishAll(line, messages.slice(half))),
    ];
  }

  /** Makes sure that there is something to publish to, and gives back what the broker refused. */
  async #declare(line: Line, messages: readonly OutboundMessage[]): Promise<ReadonlyMap<string, unknown>> {
    const { topology, effects } = this.#options;
    const refused = new Map<string, unknown>();
    for (const message of messages) {
      const place = topology.placeOf(message);
      const name = nameOf(place);
      if (line.declared.has(name) || refused.has(name)) continue;
      const deleted = line.deleted.get(name);
      if (deleted && effects.monoMs() < deleted.untilMs) {
        refused.set(name, deleted.error);
        continue;
      }
      line.deleted.delete(name);
      const session = await this.#session(line);
      try {
        await topology.declarePlace(session.channel, place);
        line.declared.add(name);
        line.idle.push(session);
      } catch (error) {
        if (!isHoldfastError(error, 'BROKER_REFUSED')) throw error;
        refused.set(name, error);
      }
    }
    return refused;
  }

  async #session(line: Line): Promise<ConfirmSession> {
    const { topology, mandatory, transport } = this.#options;
    for (let idle = line.idle.pop(); idle; idle = line.idle.pop()) if (!idle.isClosed) return idle;
    const placeOf = (message: OutboundMessage): Place => topology.placeOf(message);
    const channel = await line.link.connection.createConfirmChannel();
    return new ConfirmSession(channel, { transport, placeOf, mandatory });
  }

  #open(): Promise<Line> {
    if (this.#line) return this.#line;
    const opening = this.#options.links
      .open()
      .then((link) => ({ link, declared: new Set<string>(), idle: [], deleted: new Map() }));
    this.#line = opening;
    const forget = (): void => {
      if (this.#line === opening) this.#line = undefined;
    };
    opening.then(({ link }) => link.ended.then(forget), forget);
    return opening;
  }
}

/** An exchange, or a queue: they may have the same name. */
function nameOf({ exchange, routingKey, waiting }: Place): string {
  return waiting ? `queue ${routingKey}` : exchange;
}
