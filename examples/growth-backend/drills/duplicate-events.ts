import { type Drill, drill } from 'holdfast/drills';
import { PROJECTORS } from '../events/projectors.ts';
import { BY, type DrilledGrowth, growthStage } from './growth-stage.ts';
import { madeEvent, projectionsOf } from './made-event.ts';

const COPIES = 5;

/** Drill 2: events come twice, and projectors run twice. */
export const duplicateEvents: Drill = drill('duplicate-events', {
  about: 'An event comes five times, and its projectors run again: one row, and projections as after the first.',
  stage: growthStage,
  run: async (growth, run) => {
    const event = madeEvent();
    await growth.emit(event);
    const first = { events: 1, scores: [35], progress: [30], suggestions: ['Draft a plan'], artifacts: 1 };
    await run.until('projections of the first', first, () => projectionsOf(growth, event.userId));

    const copies = run.inject('the same event once more in the stream');
    const entries = await Promise.all(Array.from({ length: COPIES - 1 }, () => growth.emit(event)));
    await run.until('copies that were read and acknowledged', COPIES - 1, () => acknowledged(growth, entries));
    copies.hit(await acknowledged(growth, entries));
    run.check('projections after the copies', first, await projectionsOf(growth, event.userId));

    const [row] = await growth.query<{ event_id: string }>(
      'select event_id from growth.grow_event where dedupe_key = $1',
      [event.dedupeKey],
    );
    const eventId = row?.event_id ?? '';
    const again = run.inject('a projector that runs again for what it has handled');
    const rerun = await growth.operator.replay(eventId, BY, { handlers: [...PROJECTORS], rerun: true });
    if (rerun.kind !== 'replayed') throw new Error(`the projectors could not be run again: ${rerun.kind}`);
    await run.until('projectors that ran again', [...PROJECTORS].toSorted(), () => reran(growth, eventId));
    again.hit((await reran(growth, eventId)).length);
    run.check('projections after that', first, await projectionsOf(growth, event.userId));
    const rows = await growth.query('select 1 from growth.grow_event where dedupe_key = $1', [event.dedupeKey]);
    run.check('rows of the event', 1, rows.length);
  },
});

/** How many of these entries a consumer has taken and acknowledged. */
async function acknowledged({ redis, streams }: DrilledGrowth, entries: readonly string[]): Promise<number> {
  const [group = []] = (await redis.xinfo('GROUPS', streams.events)) as unknown[][];
  const fields = new Map(group.flatMap((name, n) => (n % 2 === 0 ? [[name, group[n + 1]] as const] : [])));
  const last = String(fields.get('last-delivered-id'));
  const open = (await redis.xpending(streams.events, String(fields.get('name')), '-', '+', 1_000)) as [string][];
  const pending = new Set(open.map(([id]) => id));
  return entries.filter((id) => !isAfter(id, last) && !pending.has(id)).length;
}

function isAfter(one: string, other: string): boolean {
  const [aMs = 0, aSeq = 0] = one.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = other.split('-').map(Number);
  return aMs > bMs || (aMs === bMs && aSeq > bSeq);
}

async function reran(growth: DrilledGrowth, eventId: string): Promise<readonly string[]> {
  const rows = await growth.query<{ projector: string }>(
    `select projector from holdfast.run_log where event_id = $1 and rerun > 0 and status = 'delivered' order by projector collate "C"`,
    [eventId],
  );
  return rows.map(({ projector }) => projector);
}
