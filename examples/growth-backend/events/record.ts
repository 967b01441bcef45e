import type { Project } from 'holdfast';
import type { PoolClient } from 'pg';
import type { GrowEvent } from './grow-event.ts';

/** Keeps the event itself, for good. One that is there under its key stays as it is. */
export const record: Project<GrowEvent, PoolClient> = async (event, tx, { id, type, source }) => {
  await tx.query(
    `insert into growth.grow_event (dedupe_key, event_id, type, source, user_id, request_id, payload)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (dedupe_key) do nothing`,
    [event.dedupeKey, id, type, source, event.userId, event.requestId, event],
  );
};
