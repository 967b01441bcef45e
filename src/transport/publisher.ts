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
      if (items.every(({ signal }) => signal.aborted)) return undefined;
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
    const outcomes = new Map<OutboundItem, OutboundOutcome>();
    const failedKeys = new Set<string>();
    for (const wave of broker.keepsOrder ? [items] : wavesOf(items)) {
      const open = wave.filter(
        ({ delivery: { key }, signal }) => !signal.aborted && !(key !== undefined && failedKeys.has(key)),
      );
      if (open.length === 0) continue;
      const results = await publishAll(open);
      for (const [place, item] of open.entries()) {
        const { key } = item.delivery;
        const result = results?.[place];
        if (result) outcomes.set(item, key !== undefined && failedKeys.has(key) ? { kind: 'skipped' } : result);
        if (result?.kind === 'failed' && key !== undefined) failedKeys.add(key);
      }
    }
    return items.map((item) => outcomes.get(item) ?? { kind: 'skipped' });
  };
}

/** Cuts a batch so that none holds two of a key: the second may only go out when the first is known to be. */
function wavesOf(items: readonly OutboundItem[]): readonly (readonly OutboundItem[])[] {
  const waves: OutboundItem[][] = [];
  const nextWave = new Map<string, number>();
  for (const item of items) {
    const { key } = item.delivery;
    const wave = key === undefined ? 0 : (nextWave.get(key) ?? 0);
    if (key !== undefined) nextWave.set(key, wave + 1);
    (waves[wave] ??= []).push(item);
  }
  return waves;
}
