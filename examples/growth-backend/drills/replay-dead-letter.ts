import { type Drill, drill } from 'holdfast/drills';
import { BY, type DrilledGrowth, growthStage } from './growth-stage.ts';
import { madeEvent, projectionsOf } from './made-event.ts';

/** Drill 4: an event that could not be projected is replayed when its cause is mended. */
export const replayDeadLetter: Drill = drill('replay-dead-letter', {
  about:
    'An event names a stage and a signal that nobody knows: dead letters; mended and replayed, mission and score follow.',
  stage: growthStage,
  run: async (growth, run) => {
    const [stageId, signalId] = [`stage-${Date.now()}`, `signal-${Date.now()}`];
    const event = madeEvent({ stageId, signal: { signalId, points: 60 } });
    const failed = run.inject('a projector that cannot handle the event');
    await growth.emit(event);

    await run.until('dead letters', ['mission-stage', 'qscore'], async () =>
      deadOf(growth, event.dedupeKey, 'pending'),
    );
    const failures = (): number =>
      growth.lines().filter((line) => line['requestId'] === event.requestId && 'retryable' in line).length;
    failed.hit(await run.until('failures in the log', 8, failures));
    await run.until('copies in the dead letter stream', 2, () => copiesOf(growth, event.dedupeKey));
    const before = { events: 1, scores: [], progress: [], suggestions: [], artifacts: 0 };
    run.check('projections before', before, await projectionsOf(growth, event.userId));

    await growth.query('insert into growth.mission_stage values ($1, $2, 80, $3)', ['career', stageId, 'Show it']);
    await growth.query('insert into growth.signal values ($1, 0.5)', [signalId]);
    const letters = await growth.query<{ id: string }>(
      `select id from holdfast.dead_letters where payload ->> 'dedupeKey' = $1`,
      [event.dedupeKey],
    );
    for (const { id } of letters) await growth.operator.replay(id, BY);
    const after = { events: 1, scores: [30], progress: [80], suggestions: ['Show it'], artifacts: 1 };
    await run.until('projections after the replay', after, () => projectionsOf(growth, event.userId));
    await run.until('dead letters that were replayed', ['mission-stage', 'qscore'], async () =>
      deadOf(growth, event.dedupeKey, 'replayed'),
    );
  },
});

async function deadOf(growth: DrilledGrowth, dedupeKey: string, status: string): Promise<readonly string[]> {
  const rows = await growth.query<{ handler: string }>(
    `select handler from holdfast.dead_letters where payload ->> 'dedupeKey' = $1 and status = $2 order by handler collate "C"`,
    [dedupeKey, status],
  );
  return rows.map(({ handler }) => handler);
}

async function copiesOf({ redis, streams }: DrilledGrowth, dedupeKey: string): Promise<number> {
  const entries = await redis.xrange(streams.dead, '-', '+');
  return entries.filter(([, fields]) => fields.some((field) => field.includes(dedupeKey))).length;
}
