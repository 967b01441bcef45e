import type { Project } from 'holdfast';
import type { PoolClient } from 'pg';
import type { GrowEvent } from './grow-event.ts';

/** Sessions at other services: key (serviceId, externalId). One that is completed stays so, whatever comes late. */
export const projectSession: Project<GrowEvent, PoolClient> = async (event, tx, { id }) => {
  const { session, userId, missionInstanceId } = event;
  if (session === undefined) return;
  await tx.query(
    `insert into growth.service_session (service_id, external_id, user_id, mission_instance_id, status, event_id)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (service_id, external_id) do update set status = excluded.status, event_id = excluded.event_id
     where service_session.status = 'open' and excluded.status = 'completed'`,
    [session.serviceId, session.externalId, userId, missionInstanceId, session.status, id],
  );
};
