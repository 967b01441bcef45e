import { newId } from '../../system/new-id.ts';
import { systemEffects } from '../../system/effects.ts';
import type { Consumption, InboundMessage, OutboundMessage, PublishResult, Broker } from '../../transport/broker.ts';
import { must } from '../contract/contract-kit.ts';
import type { TransportCase, TransportHarness } from './transport-harness.ts';

// A broker that has just started and a machine that is busy with much else.
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 10;

/** What a consumer of a case has been given, and what it does with it. */
export interface Inbox {
  readonly transport: Broker;
  /** Every message that was handed over, in its order, also those that were handed over again. */
  readonly messages: InboundMessage[];
  readonly lost: unknown[];
  /** While true, what is handed over is kept in the hand: nothing is acknowledged. */
  isHolding: boolean;
  /** Resolves when everything in the hand may go on. */
  release(): void;
  stop(): Promise<void>;
}

/** What a case works with. */
export class TransportKit {
  readonly harness: TransportHarness;
  readonly #opened: Broker[] = [];
  readonly #inboxes: Inbox[] = [];

  constructor(harness: TransportHarness) {
    this.harness = harness;
  }

  open(): Broker {
    const transport = this.harness.open();
    this.#opened.push(transport);
    return transport;
  }

  message(about: Partial<OutboundMessage> & { readonly n?: number } = {}): OutboundMessage {
    const { n = 0, ...rest } = about;
    const type = rest.type ?? 'order.placed';
    const attributes = {
      specversion: '1.0',
      id: newId(),
      source: 'contract',
      type,
      datacontenttype: 'application/json',
    };
    return {
      type,
      key: undefined,
      isDead: false,
      attributes,
      headers: {},
      body: Buffer.from(JSON.stringify({ n })),
      ...rest,
    };
  }

  /** Publishes, and expects that all of them are out. */
  async publish(transport: Broker, messages: readonly OutboundMessage[]): Promise<void> {
    for (const result of await this.tryPublish(transport, messages)) {
      must(result.kind === 'published', `it is published (${String('error' in result ? result.error : '')})`);
    }
  }

  /** Publishes as a publisher does: a batch holds several of a key only where the transport keeps their order. */
  async tryPublish(transport: Broker, messages: readonly OutboundMessage[]): Promise<readonly PublishResult[]> {
    if (transport.keepsOrder) return transport.publish(messages);
    const results: PublishResult[] = [];
    for (const message of messages) results.push(...(await transport.publish([message])));
    return results;
  }

  async consume(
    about: { group?: string; types?: readonly string[]; isDead?: boolean; isHolding?: boolean } = {},
  ): Promise<Inbox> {
    const transport = this.open();
    const { group = 'mail', types = ['order.placed'], isDead = false } = about;
    let open = Promise.withResolvers<void>();
    const messages: InboundMessage[] = [];
    const lost: unknown[] = [];
    const begun: Consumption[] = [];
    let isStopped = false;
    const inbox: Inbox = {
      transport,
      messages,
      lost,
      isHolding: about.isHolding ?? false,
      release: () => {
        inbox.isHolding = false;
        open.resolve();
        open = Promise.withResolvers();
      },
      stop: async () => {
        isStopped = true;
        open.reject(new Error('stopped'));
        open.promise.catch(() => undefined);
        for (const consumption of begun) await consumption.stop();
      },
    };
    const onBatch = async (batch: readonly InboundMessage[]): Promise<void> => {
      if (isStopped) throw new Error('stopped');
      messages.push(...batch);
      if (inbox.isHolding) await open.promise;
    };
    const onLost = (error: unknown): void => void lost.push(error);
    begun.push(await transport.consume({ group, types, isDead, onBatch, onPlace: () => undefined, onLost }));
    this.#inboxes.push(inbox);
    return inbox;
  }

  /** Waits until it is true. */
  async until(isTrue: () => boolean, what: string): Promise<void> {
    const startedMs = systemEffects.monoMs();
    while (!isTrue()) {
      for (const { lost } of this.#inboxes) if (lost.length > 0) throw new Error(`${what}: lost`, { cause: lost[0] });
      must(systemEffects.monoMs() - startedMs < PATIENCE_MS, what);
      await new Promise<void>((resolve) => void systemEffects.setTimer(resolve, LOOK_EVERY_MS));
    }
  }

  async close(): Promise<void> {
    for (const inbox of this.#inboxes) await inbox.stop();
    for (const transport of this.#opened) await transport.close();
  }
}

/** The numbers in the bodies, in their order. */
export function numbersOf(messages: readonly InboundMessage[]): readonly number[] {
  return messages.map(({ body }) => (JSON.parse(Buffer.from(body).toString()) as { n: number }).n);
}

/** A case with a kit of its own, which closes what it opened. */
export function promise(name: string, run: (kit: TransportKit) => Promise<void>): TransportCase {
  return {
    name,
    run: async (harness) => {
      const kit = new TransportKit(harness);
      try {
        await run(kit);
      } finally {
        await kit.close();
      }
    },
  };
}
