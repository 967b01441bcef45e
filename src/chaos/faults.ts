import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { FaultOutcome, InjectFault } from './fault-outcome.ts';
import type { FaultName } from './fault-names.ts';
import { FRONT_FAULTS } from './front-faults.ts';
import { outage } from './outage.ts';
import { proxiesOf, type Site } from './site.ts';
import { FIND_MS, isFinished, standing } from './standing.ts';
import { until } from './until.ts';

const sleep = createSleep(systemEffects);
const SLOW_BY_MS = 40;
const SLOW_FOR_MS = 1_500;
const SILENT_FOR_MS = 6_000;
const HOUR_MS = 3_600_000;
const REPEATED = 40;
const AGAIN_LOOK_MS = 50;
const LATE_BEHIND = 100;

/** A fault for which messages come first. */
function during(inject: (site: Site, signal: AbortSignal) => Promise<FaultOutcome>): InjectFault {
  return (site, signal, sendMore) => {
    sendMore();
    return inject(site, signal);
  };
}

/** How each fault of a moment is injected. */
export const INJECT: Readonly<Partial<Record<FaultName, InjectFault>>> = {
  'kill-worker': killWorker,
  'hang-worker': hangWorker,
  cut: during(async (site) => ({ hits: sum(proxiesOf(site), (proxy) => proxy.cut()) })),
  silence: during(silence),
  slow: during(slow),
  'store-outage': during((site, signal) => outage(site.storeProxies, signal)),
  'broker-outage': during((site, signal) => outage(site.brokerProxies, signal)),
  restart: during(async ({ ownServer }) => {
    await ownServer?.restart();
    return { hits: ownServer ? 1 : 0 };
  }),
  duplicate: during(duplicate),
  clock: during(clockJump),
  'late-commit': lateCommit,
  ...FRONT_FAULTS,
};

async function killWorker(site: Site, signal: AbortSignal, sendMore: () => void): Promise<FaultOutcome> {
  const { crew } = site;
  const found = await standing(site, crew, signal, sendMore);
  if (!found) return { hits: 0 };
  const { member, runs } = found;
  await crew.kill(member);
  // Not before what it had in its hand is done: to die with the same message again and again would rightly bring that under suspicion.
  await crew.hire(signal);
  await isFinished(site, runs, signal);
  return { hits: 1, runs, sinceMs: found.sinceMs };
}

/** Its lease ends, others take over, and then it goes on as if nothing had happened: all it still writes must be refused. */
async function hangWorker(site: Site, signal: AbortSignal, sendMore: () => void): Promise<FaultOutcome> {
  const { database, leaseMs } = site;
  const found = await standing(site, site.crew, signal, sendMore);
  if (!found) return { hits: 0 };
  const { member, runs } = found;
  try {
    const isTakenOver = async (): Promise<boolean> =>
      (await database.unitsOf(member.name)) === 0 && (await database.unfinishedOf(runs)).length === 0;
    const isHit = await until(isTakenOver, { withinMs: leaseMs * 10, signal });
    return { hits: isHit ? 1 : 0, runs, sinceMs: found.sinceMs };
  } finally {
    member.child.process.kill('SIGCONT');
  }
}

async function slow(site: Site, signal: AbortSignal): Promise<FaultOutcome> {
  const proxies = proxiesOf(site);
  const before = sum(proxies, ({ hits }) => hits.delayed);
  for (const proxy of proxies) proxy.delay(SLOW_BY_MS);
  try {
    await sleep(SLOW_FOR_MS, signal);
  } finally {
    for (const proxy of proxies) proxy.delay(0);
  }
  return { hits: sum(proxies, ({ hits }) => hits.delayed) - before };
}

/** Longer than anybody waits for an answer: whoever is there must have doubted the connection by then, and made another. */
async function silence(site: Site, signal: AbortSignal): Promise<FaultOutcome> {
  const sinceMs = systemEffects.now().wallMs;
  const hits = sum(proxiesOf(site), (proxy) => proxy.fallSilent());
  try {
    await sleep(SILENT_FOR_MS, signal);
  } finally {
    for (const proxy of proxiesOf(site)) proxy.endSilent();
  }
  return { hits, sinceMs };
}

/** Sends come again under the same key; with a broker, what was published is published again, the newest first. */
async function duplicate(
  { sender, database, settings: { broker, waitMs } }: Site,
  signal: AbortSignal,
): Promise<FaultOutcome> {
  const before = sender.news.repeated;
  await until(() => sender.news.acknowledged >= REPEATED, { withinMs: FIND_MS, signal });
  sender.order({ do: 'repeat', count: REPEATED });
  await until(() => sender.news.repeated >= before + REPEATED, { withinMs: FIND_MS, signal });
  if (!broker) return { hits: sender.news.repeated - before };
  const to = `to-${broker.kind}`;
  let ids: readonly string[] = [];
  const isPublished = async (): Promise<boolean> => (ids = await database.publishedBy(to, REPEATED)).length > 0;
  await until(isPublished, { withinMs: waitMs, signal });
  for (const id of ids) await database.operator.replay(id, { actor: 'drill' }, { handlers: [to], rerun: true });
  const cameAgain = async (): Promise<boolean> => (await database.cameAgain(ids)) === ids.length;
  // Whoever reads the broker may have lost it just now: another reads on when its time is up.
  await until(cameAgain, { withinMs: waitMs, signal, everyMs: AGAIN_LOOK_MS });
  return { hits: await database.cameAgain(ids) };
}

async function clockJump({ crew, database }: Site, signal: AbortSignal): Promise<FaultOutcome> {
  const [first, second] = crew.members;
  const jumps = [
    ...(first ? [{ member: first, byMs: HOUR_MS }] : []),
    ...(second ? [{ member: second, byMs: -HOUR_MS }] : []),
  ];
  let hits = 0;
  for (const { member, byMs } of jumps) {
    const before = await database.effectsOf(member.name);
    crew.order(member, { do: 'jump', byMs });
    const works = async (): Promise<boolean> => (await database.effectsOf(member.name)) > before;
    if (await until(works, { withinMs: FIND_MS, signal })) hits += 1;
  }
  return { hits };
}

async function lateCommit({ sender }: Site, signal: AbortSignal, sendMore: () => void): Promise<FaultOutcome> {
  const before = sender.news.lagged;
  sender.order({ do: 'lag', behind: LATE_BEHIND });
  sendMore();
  await until(() => sender.news.lagged > before, { withinMs: FIND_MS, signal });
  return { hits: sender.news.lagged - before };
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
