import type { Effects } from '../kernel/effects.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboundItem, OutboundOutcome, Publish } from '../relay/handler.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import { toWire } from './cloud-event.ts';
import { BatchLimit, batchOf } from './batch-limit.ts';
import type { PublishResult, Broker } from './broker.ts';
import { within } from './within.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
/** About what a message takes besides its payload. */
const ENVELOPE_BYTES = 300;
const SKIPPED: OutboundOutcome = { kind: 'skipped' };

/**
 * Publishes what a relay hands over. While the broker is away it holds on to what it was given and tries again: nothing is written
 * for it, no attempt is counted, and the rows stay where they are. What the broker refuses is the message's own failure.
 */
export function publisher(broker: Broker, effects: Effects, tell: RelayObserver): Publish {
  const sleep = createSleep(effects);
  const limit = new BatchLimit(effects);
  /** What may still go out of a wave, and of that as much as may travel at once. It is asked again before each try. */
  const publishSome = async (openIn: () => readonly Placed[]): Promise<readonly Published[]> => {
    for (let failures = 1; ; failures++) {
      const { batch, size } = batchOf(openIn(), limit.bytes, ([, item]) => sizeOf(item));
      // Whoever owns them now publishes them; a wait would only let old ones out after new ones.
      if (batch.length === 0) return [];
      const messages = batch.map(([, item]) => toWire(item));
      try {
        const results = await limit.carry(() => within(effects, broker.publish(messages)), size);
        return batch.map((placed, at) => [placed, results[at] as PublishResult]);
      } catch (error) {
        // A connection that has fallen silent stays so: the next try makes another.
        if (isHoldfastError(error, 'BROKER_TIMEOUT')) void broker.close().catch(() => undefined);
        tell({ kind: 'transport-failed', transport: broker.name, during: 'publish', error, failures });
        await sleep(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS));
      }
    }
  };
  return async (items) => {
    const outcomes = items.map((): OutboundOutcome => SKIPPED);
    const failedKeys = new Set<string>();
    const hasFailed = (key: string | undefined): boolean => key !== undefined && failedKeys.has(key);
    for (const wave of broker.keepsOrder ? [[...items.entries()]] : wavesOf(items)) {
      let left: readonly Placed[] = wave;
      const openIn = (): readonly Placed[] =>
        (left = left.filter(([, { delivery, isGivenUp }]) => !isGivenUp && !hasFailed(delivery.key)));
      for (;;) {
        const published = await publishSome(openIn);
        if (published.length === 0) break;
        left = left.slice(published.length);
        for (const [[place, { delivery }], result] of published) {
          if (!hasFailed(delivery.key)) outcomes[place] = result;
          if (result.kind === 'failed' && delivery.key !== undefined) failedKeys.add(delivery.key);
        }
      }
    }
    return outcomes;
  };
}

function sizeOf({ payload, delivery }: OutboundItem): number {
  return payload.length + ENVELOPE_BYTES + (delivery.key?.length ?? 0);
}

type Published = readonly [placed: Placed, result: PublishResult];
type Placed = readonly [place: number, item: OutboundItem];

/** Cuts a batch so that none holds two of a key: the second may only go out when the first is known to be. */
function wavesOf(items: readonly OutboundItem[]): readonly (readonly Placed[])[] {
  const waves: Placed[][] = [];
  const nextWave = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const { key } = item.delivery;
    const wave = key === undefined ? 0 : (nextWave.get(key) ?? 0);
    if (key !== undefined) nextWave.set(key, wave + 1);
    (waves[wave] ??= []).push([place, item]);
  }
  return waves;
}
