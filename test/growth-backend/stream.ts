import type { Growth } from '../../examples/growth-backend/start-growth.ts';

/** How far the consumers of the stream of canonical events are. */
export interface StreamState {
  /** Entries that a consumer has taken and nobody has acknowledged. */
  readonly pending: number;
  /** No entry is left that nobody has taken. */
  readonly isRead: boolean;
}

/** Asks Redis itself. */
export async function streamState({ redis, streams }: Growth): Promise<StreamState> {
  const [groups, entries] = await Promise.all([
    redis.xinfo('GROUPS', streams.events) as Promise<unknown[][]>,
    redis.xrevrange(streams.events, '+', '-', 'COUNT', 1),
  ]);
  const group = groups[0] ?? [];
  const fields = new Map(group.flatMap((name, n) => (n % 2 === 0 ? [[name, group[n + 1]] as const] : [])));
  return { pending: Number(fields.get('pending')), isRead: fields.get('last-delivered-id') === entries[0]?.[0] };
}

/** A canonical event as a service writes it that knows nothing of Holdfast. */
export function growEvent(name: string, more: object = {}): Readonly<Record<string, unknown>> & { dedupeKey: string } {
  return {
    type: 'interview-completed',
    source: 'interview-service',
    dedupeKey: `event:user_${name}:session_1:completed:v1`,
    userId: `user_${name}`,
    requestId: `request-${name}`,
    missionId: 'career',
    missionInstanceId: `mission_${name}`,
    stageId: 'interview',
    occurredAt: '2026-06-05T16:31:00.000Z',
    signal: { signalId: 'speaking', points: 70 },
    session: { serviceId: 'interview', externalId: `session_${name}`, status: 'completed' },
    artifact: { serviceId: 'interview', externalId: `recording_${name}`, type: 'recording', title: 'Interview' },
    ...more,
  };
}

/** All that the projectors have made for a user, with the times at which they made it: equal only if nothing was written since. */
export async function projectionsOf(growth: Growth, userId: string): Promise<unknown> {
  const [row] = await growth.query(
    `select
      (select json_agg(row_to_json(e)) from growth.grow_event e where user_id = $1) as events,
      (select json_agg(row_to_json(s)) from (select *, xmin::text from growth.score where user_id = $1) s) as scores,
      (select json_agg(row_to_json(s)) from (select *, xmin::text from growth.service_session where user_id = $1) s) as sessions,
      (select json_agg(row_to_json(m)) from (select *, xmin::text from growth.mission where user_id = $1) m) as missions,
      (select json_agg(row_to_json(t)) from (select t.*, t.xmin::text from growth.stage t join growth.mission using (mission_instance_id)
        where user_id = $1) t) as stages,
      (select json_agg(row_to_json(g)) from (select g.*, g.xmin::text from growth.suggestion g
        join growth.mission using (mission_instance_id) where user_id = $1) g) as suggestions,
      (select json_agg(row_to_json(a)) from (select a.*, a.xmin::text from growth.artifact a
        join growth.mission using (mission_instance_id) where user_id = $1) a) as artifacts`,
    [userId],
  );
  return row;
}
