import type { Project } from 'holdfast';
import type { PoolClient } from 'pg';
import type { GrowEvent } from './grow-event.ts';

/** A stage that the mission does not have, or does not have yet. */
class UnknownStageError extends Error {
  override readonly name = 'UnknownStageError';
}

interface StageRow {
  readonly progress: number;
  readonly next_step: string | null;
}

/**
 * A stage of a mission is done: how far that brings the mission is said by the catalogue, not added up, and a suggestion is made once. So
 * the same event again, or events in another order, lead to the same rows.
 */
export const projectMissionStage: Project<GrowEvent, PoolClient> = async (event, tx, { id }) => {
  const { missionId, missionInstanceId, stageId, userId } = event;
  if (missionId === undefined || missionInstanceId === undefined || stageId === undefined) return;
  const { rows } = await tx.query<StageRow>(
    'select progress, next_step from growth.mission_stage where mission_id = $1 and stage_id = $2',
    [missionId, stageId],
  );
  const [stage] = rows;
  if (stage === undefined) throw new UnknownStageError(`the mission ${missionId} has no stage ${stageId}`);
  await tx.query(
    `insert into growth.stage (mission_instance_id, stage_id, status, event_id) values ($1, $2, 'done', $3)
     on conflict do nothing`,
    [missionInstanceId, stageId, id],
  );
  await tx.query(
    `insert into growth.mission (mission_instance_id, mission_id, user_id, progress) values ($1, $2, $3, $4)
     on conflict (mission_instance_id) do update set progress = excluded.progress where mission.progress < excluded.progress`,
    [missionInstanceId, missionId, userId, stage.progress],
  );
  if (stage.next_step === null) return;
  await tx.query(
    `insert into growth.suggestion (mission_instance_id, stage_id, suggestion, event_id) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [missionInstanceId, stageId, stage.next_step, id],
  );
};
