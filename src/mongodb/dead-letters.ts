import type { DeadMessage, DeadMessages } from './dead-messages.ts';
import type { Row } from './row.ts';
import type { Rows } from './rows.ts';

/** The dead ones among rows. */
export function deadMessages<R extends Row>(rows: Rows<R>): DeadMessages {
  return {
    list: async (limit = 100) => (await rows.dead(limit)).map(shown),
    replay: (id) => rows.replay(id),
    discard: (id) => rows.discard(id),
  };
}

function shown({ _id, eventType: type, key, payload, attempts, replays, reason, error, deadAt }: Row): DeadMessage {
  return {
    id: _id,
    type,
    key: key ?? undefined,
    payload: JSON.parse(payload),
    attempts,
    replays,
    reason: reason ?? 'unknown',
    error: { name: error?.name ?? 'unknown', message: error?.message ?? '', code: error?.code },
    deadAt: deadAt ?? new Date(0),
  };
}
