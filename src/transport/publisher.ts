import type { Effects } from '../kernel/effects.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboundItem, OutboundOutcome, Publish } from '../relay/handler.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import { toWire } from './cloud-event.ts';
import type { PublishResult, Broker } from './broker.ts';
import { within } from './within.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;
const SKIPPED: OutboundOutcome = { kind: 'skipped' };

/**
 * Publishes what a relay hands over. While the broker is away it holds on to what it was given and tries again: nothing is written
 * for it, no attempt is counted, and the rows stay where they are. What the broker refuses is the message's own failure.
 */
export function publisher(broker: Broker, effects: Effects, tell: RelayObserver): Publish {
  const sleep = createSleep(effects);
  const publishAll = async (items: readonly OutboundItem[]): Promise<readonly PublishResult[] | undefined> => {
    const messages = items.map(toWire);
    for (let failures = 1; ; failures++) {
      // Whoever owns them now publishes them; a wait would only let old ones out after new ones.
      if (items.every(({ isGivenUp }) => isGivenUp)) return undefined;
      try {
        return await within(effects, broker.publish(messages));
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
      const open = wave.filter(([, { delivery, isGivenUp }]) => !isGivenUp && !hasFailed(delivery.key));
      if (open.length === 0) continue;
      const results = await publishAll(open.map(([, item]) => item));
      for (const [at, [place, { delivery }]] of open.entries()) {
        const result = results?.[at];
        if (result && !hasFailed(delivery.key)) outcomes[place] = result;
        if (result?.kind === 'failed' && delivery.key !== undefined) failedKeys.add(delivery.key);
      }
    }
    return outcomes;
  };
}

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
