import { HOUSE_UNIT, type Survey } from '../relay/relay-store.ts';
import { sightOf } from './memory-breakers.ts';
import { expireWorkers, type LivenessLock } from './memory-liveness.ts';
import type { MemoryTables } from './memory-tables.ts';

/** What a look-round tells a worker. The dead are buried in it. */
export function surveyTables(tables: MemoryTables, workerId: string, lock: LivenessLock | undefined): Survey {
  const { workers, leases, lanes, handlers, breakers } = tables;
  const againInMs = expireWorkers(tables, workerId, lock);
  const me = workers.get(workerId);
  const free = [...leases].flatMap(([unit, { owner, epoch }]) => {
    const isOffered = unit === HOUSE_UNIT || (me?.lanes.includes(tables.laneOfUnit(unit)) ?? false);
    if (!isOffered || (owner !== undefined && workers.has(owner))) return [];
    return [{ unit, epoch, isOrphaned: owner !== undefined }];
  });
  const paused = [...lanes.values()].filter(({ handler }) => handlers.get(handler)?.isPaused || tables.isPaused);
  return {
    workers: [...workers.values()].map(({ id, lanes: served }) => ({ id, lanes: served })),
    free,
    owned: [...leases].flatMap(([unit, { owner, epoch }]) => (owner === workerId ? [{ unit, epoch }] : [])),
    pausedLanes: paused.map(({ id }) => id),
    limits: [...lanes.values()].flatMap(({ id, handler }) => {
      const limit = handlers.get(handler)?.limit;
      return limit === undefined ? [] : [{ lane: id, limit }];
    }),
    breakers: [...breakers.values()]
      .filter(({ service, epoch }) => service === me?.service && epoch > 0)
      .map((breaker) => sightOf(tables, workerId, breaker)),
    ...(againInMs !== undefined && { againInMs }),
  };
}
