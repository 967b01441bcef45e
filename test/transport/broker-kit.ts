import { onTestFinished } from 'vitest';
import { newId } from '../../src/system/new-id.ts';
import type {
  Broker,
  ConsumeRequest,
  Consumption,
  InboundMessage,
  OutboundMessage,
} from '../../src/transport/broker.ts';
import { numberIn } from './number-in.ts';

/** A message with a number in it. */
export function message(n: number, about: Partial<OutboundMessage> = {}): OutboundMessage {
  const type = about.type ?? 'order.placed';
  const attributes = { specversion: '1.0', id: newId(), source: 'test', type, datacontenttype: 'application/json' };
  const body = Buffer.from(JSON.stringify({ n }));
  return { type, key: undefined, isDead: false, attributes, headers: {}, body, ...about };
}

/** Consumes until the test ends, and keeps what it stores. */
export async function consuming(
  broker: Broker,
  about: Partial<ConsumeRequest> = {},
): Promise<{
  readonly stored: InboundMessage[];
  readonly lost: unknown[];
  /** Why places cannot be read, by their names. */
  readonly waiting: Map<string, unknown>;
  readonly consumption: Consumption;
}> {
  const stored: InboundMessage[] = [];
  const lost: unknown[] = [];
  const waiting = new Map<string, unknown>();
  const consumption = await broker.consume({
    group: 'mail',
    types: ['order.placed'],
    isDead: false,
    onBatch: async (batch) => void stored.push(...batch),
    onPlace: (place, problem) => void (problem === undefined ? waiting.delete(place) : waiting.set(place, problem)),
    onLost: (error) => void lost.push(error),
    ...about,
  });
  onTestFinished(() => consumption.stop());
  return { stored, lost, waiting, consumption };
}

/** Reads as a service does: what is lost is begun again. Keeps what is stored, what is said of the place, and why it was lost. */
export async function reading(
  broker: Broker,
  onBatch: ConsumeRequest['onBatch'] = async () => undefined,
): Promise<{
  readonly stored: number[];
  readonly problems: string[];
  readonly lost: string[];
  stop(): Promise<void>;
}> {
  const stored: number[] = [];
  const losses: string[] = [];
  const problems: string[] = [];
  let isStopped = false;
  let consumption: Consumption | undefined;
  const begin = async (): Promise<void> => {
    for (;;) {
      const lost = Promise.withResolvers<unknown>();
      try {
        consumption = await broker.consume({
          group: 'mail',
          types: ['order.placed'],
          isDead: false,
          onBatch: async (batch: readonly InboundMessage[]) => {
            await onBatch(batch);
            stored.push(...batch.map(numberIn));
          },
          onPlace: (_place, problem) => void (problem !== undefined && problems.push((problem as Error).message)),
          onLost: lost.resolve,
        });
        started.resolve();
        losses.push(String(await lost.promise));
        await consumption.stop();
      } catch {
        // The place is missing for a moment.
      }
      if (isStopped) return;
    }
  };
  const started = Promise.withResolvers<void>();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await consumption?.stop();
  };
  void begin();
  await started.promise;
  onTestFinished(stop);
  return { stored, problems, lost: losses, stop };
}
