import type { FaultName } from './fault-names.ts';
import type { FaultOutcome, InjectFault } from './fault-outcome.ts';
import { outage } from './outage.ts';
import type { Site } from './site.ts';
import { FIND_MS, isFinished, standing } from './standing.ts';
import { until } from './until.ts';

/** How the faults of the HTTP front, and of the relays behind it, are injected. */
export const FRONT_FAULTS: Readonly<Partial<Record<FaultName, InjectFault>>> = {
  'kill-api': killApi,
  'kill-relay': killRelay,
  'redis-crash': withReplies(async ({ front }) => {
    await front?.redis.crash?.();
    return { hits: front?.redis.crash ? 1 : 0 };
  }),
  'redis-flush': withReplies(async ({ front }) => ({ hits: (await front?.redis.flush()) ?? 0 })),
  'redis-outage': withReplies(({ front }, signal) => outage(front?.redisProxies ?? [], signal)),
};

const REPEATED = 40;

/** A fault of Redis: it answers something before, so that there is something to lose. */
function withReplies(inject: (site: Site, signal: AbortSignal) => Promise<FaultOutcome>): InjectFault {
  return async (site, signal, sendMore) => {
    const { sender } = site;
    const fromRedis = (): number => sender.news.http?.fromRedis ?? 0;
    const before = fromRedis();
    sendMore();
    await until(() => sender.news.acknowledged > 0, { withinMs: FIND_MS, signal });
    sender.order({ do: 'repeat', count: REPEATED });
    await until(() => fromRedis() > before, { withinMs: FIND_MS, signal });
    return inject(site, signal);
  };
}

async function killApi(site: Site, signal: AbortSignal, sendMore: () => void): Promise<FaultOutcome> {
  const { front } = site;
  const found = front && (await standing(site, front.apis, signal, sendMore));
  if (!found) return { hits: 0 };
  await front.replace(found.member, signal);
  await isFinished(site, found.runs, signal);
  return { hits: 1, runs: found.runs, sinceMs: found.sinceMs };
}

async function killRelay(site: Site, signal: AbortSignal, sendMore: () => void): Promise<FaultOutcome> {
  const { relays } = site;
  const found = relays && (await standing(site, relays, signal, sendMore));
  if (!found) return { hits: 0 };
  await relays.kill(found.member);
  await relays.hire(signal);
  await isFinished(site, found.runs, signal);
  return { hits: 1, runs: found.runs, sinceMs: found.sinceMs };
}
