import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { FaultOutcome } from './fault-outcome.ts';
import type { TcpProxy } from './tcp-proxy.ts';

const AWAY_FOR_MS = 2_000;

const sleep = createSleep(systemEffects);

/** Lets no connection through for a while. */
export async function outage(proxies: readonly TcpProxy[], signal: AbortSignal): Promise<FaultOutcome> {
  const count = (): number => proxies.reduce((sum, { hits }) => sum + hits.cut + hits.refused, 0);
  const before = count();
  for (const proxy of proxies) proxy.shut();
  try {
    await sleep(AWAY_FOR_MS, signal);
  } finally {
    for (const proxy of proxies) proxy.letPass();
  }
  return { hits: count() - before };
}
