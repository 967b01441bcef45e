import type { Project } from 'holdfast';
import type { PoolClient } from 'pg';
import type { GrowEvent } from './grow-event.ts';

/** A signal that nobody has said the weight of. Once somebody has, the event can be replayed. */
class UnknownSignalError extends Error {
  override readonly name = 'UnknownSignalError';
}

/** The latest points of each signal of a user: key (userId, signalId). An older event, or the same again, changes nothing. */
export const projectScore: Project<GrowEvent, PoolClient> = async ({ userId, signal, occurredAt }, tx, { id }) => {
  if (signal === undefined) return;
  const { rows } = await tx.query<{ weight: string }>('select weight from growth.signal where signal_id = $1', [
    signal.signalId,
  ]);
  if (rows[0] === undefined) throw new UnknownSignalError(`there is no weight for the signal ${signal.signalId}`);
  const points = signal.points * Number(rows[0].weight);
  await tx.query(
    `insert into growth.score (user_id, signal_id, points, occurred_at, event_id) values ($1, $2, $3, $4, $5)
     on conflict (user_id, signal_id) do update
     set points = excluded.points, occurred_at = excluded.occurred_at, event_id = excluded.event_id
     where score.occurred_at < excluded.occurred_at`,
    [userId, signal.signalId, points, occurredAt, id],
  );
};
