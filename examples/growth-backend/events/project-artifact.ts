import type { Project } from 'holdfast';
import type { PoolClient } from 'pg';
import type { GrowEvent } from './grow-event.ts';

/** What was made for a mission: key (missionInstanceId, serviceId, externalId, type). It is there once, however often it is told of. */
export const projectArtifact: Project<GrowEvent, PoolClient> = async ({ artifact, missionInstanceId }, tx, { id }) => {
  if (artifact === undefined || missionInstanceId === undefined) return;
  await tx.query(
    `insert into growth.artifact (mission_instance_id, service_id, external_id, type, title, event_id)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [missionInstanceId, artifact.serviceId, artifact.externalId, artifact.type, artifact.title, id],
  );
};
