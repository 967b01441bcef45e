import { randomUUID } from 'node:crypto';
import type { GrowEvent } from '../events/grow-event.ts';
import type { DrilledGrowth } from './growth-stage.ts';

/** A canonical event as another service writes it. */
export type MadeEvent = GrowEvent & { readonly type: string; readonly source: string };

/** An event of a user who is nobody else's. */
export function madeEvent(more: Partial<GrowEvent> = {}): MadeEvent {
  const id = randomUUID();
  return {
    type: 'interview-completed',
    source: 'interview-service',
    dedupeKey: `event:user_${id}:session_1:completed:v1`,
    userId: `user_${id}`,
    requestId: `drill-${id}`,
    missionId: 'career',
    missionInstanceId: `mission_${id}`,
    stageId: 'interview',
    occurredAt: new Date().toISOString(),
    signal: { signalId: 'speaking', points: 70 },
    session: { serviceId: 'interview', externalId: `session_${id}`, status: 'completed' },
    artifact: { serviceId: 'interview', externalId: `recording_${id}`, type: 'recording', title: 'Interview' },
    ...more,
  };
}

/** What the projectors have made for a user. */
export async function projectionsOf(growth: DrilledGrowth, userId: string): Promise<unknown> {
  const [row] = await growth.query<{ readonly found: unknown }>(
    `with mission as (select * from growth.mission where user_id = $1) select json_build_object(
      'events', (select count(*) from growth.grow_event where user_id = $1),
      'scores', (select coalesce(json_agg(points), '[]') from growth.score where user_id = $1),
      'progress', (select coalesce(json_agg(progress), '[]') from mission),
      'suggestions', (select coalesce(json_agg(suggestion), '[]') from growth.suggestion join mission using (mission_instance_id)),
      'artifacts', (select count(*) from growth.artifact join mission using (mission_instance_id))) as found`,
    [userId],
  );
  return row?.found;
}
