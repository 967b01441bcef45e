import type { BreakerAnswer, BreakerChange, BreakerSight } from '../relay/relay-store.ts';
import type { BreakerRow, MemoryTables } from './memory-tables.ts';

/** A breaker as a worker sees it. */
export function sightOf(tables: MemoryTables, workerId: string, breaker: BreakerRow): BreakerSight {
  const { name, epoch, probes, prober, probeAtMs } = breaker;
  const isGone = isProberGone(tables, breaker);
  const state = isGone ? 'open' : breaker.state;
  const isMine = state === 'probing' && prober === workerId;
  const about = { name, state, epoch, probes, isMine };
  if (isGone) return { ...about, probeInMs: 0 };
  if (state !== 'open' || probeAtMs === undefined) return about;
  return { ...about, probeInMs: Math.max(0, probeAtMs - tables.nowMs()) };
}

/** What a worker makes of a breaker of its service. */
export function changeBreaker(
  tables: MemoryTables,
  workerId: string,
  change: BreakerChange,
): BreakerAnswer | undefined {
  const service = tables.workers.get(workerId)?.service;
  const breaker = service === undefined ? undefined : tables.breakers.get(`${service}/${change.name}`);
  if (!breaker) return undefined;
  const isChanged = breaker.epoch === change.epoch && isAllowed(tables, workerId, breaker, change.kind);
  if (isChanged) apply(tables, workerId, breaker, change);
  return { isChanged, sight: sightOf(tables, workerId, breaker) };
}

function isAllowed(tables: MemoryTables, workerId: string, breaker: BreakerRow, kind: BreakerChange['kind']): boolean {
  const { state, probeAtMs = Infinity, prober } = breaker;
  switch (kind) {
    case 'open':
      return state === 'closed';
    case 'claim':
      return (state === 'open' && probeAtMs <= tables.nowMs()) || isProberGone(tables, breaker);
    case 'close':
    case 'reopen':
      return state === 'probing' && prober === workerId;
    default:
      return kind satisfies never;
  }
}

function apply(tables: MemoryTables, workerId: string, breaker: BreakerRow, change: BreakerChange): void {
  breaker.epoch += 1;
  breaker.prober = change.kind === 'claim' ? workerId : undefined;
  breaker.probeAtMs = 'probeInMs' in change ? tables.nowMs() + change.probeInMs : undefined;
  if (change.kind === 'claim') breaker.state = 'probing';
  else breaker.state = change.kind === 'close' ? 'closed' : 'open';
  if (change.kind !== 'reopen' && change.kind !== 'claim') breaker.probes = 0;
  else if (change.kind === 'reopen' && change.error) breaker.probes += 1;
}

function isProberGone({ workers }: MemoryTables, { state, prober = '' }: BreakerRow): boolean {
  return state === 'probing' && !workers.has(prober);
}
