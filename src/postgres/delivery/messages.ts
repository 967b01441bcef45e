import type { DeliveryMessages, DeliveryRecord, DeliverySelection } from '../../delivery/delivery-messages.ts';
import { type Fields, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { API } from './audited.ts';
import { MESSAGE_ID, readCursor, selectionFields } from './selection.ts';
import { shownRequest } from './shown-request.ts';
import { walkOn } from './walk-on.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** How many messages one statement cancels. */
const CANCEL_STEP = 500;
/** How far the clock of who made an id may be off. */
const CLOCKS_APART_MS = 3_600_000;

/** Messages: read, listed, cancelled. */
export function deliveryMessages(sql: SqlRunner, schema: string): DeliveryMessages {
  const messageGet = `select ${schema}.http_messages(array[$1::text::uuid]) as row`;
  const messageList = `select ${schema}.http_message_list($1::text) as row`;
  const messageCancel = `select n, next from ${schema}.http_cancel($1::text, $2::text, $3::text)`;
  return {
    get: async (messageId) => {
      if (!MESSAGE_ID.test(messageId)) return undefined;
      const [row] = await sql.query(messageGet, [messageId]);
      return row && toDelivery(JSON.parse(String(row['row'])) as Fields);
    },
    list: (selection, { limit, cursor: from }) => {
      const page = async (cursor: string | undefined): ReturnType<DeliveryMessages['list']> => {
        const below = readCursor('messages.list()', cursor, MESSAGE_ID)?.[0] ?? lastIdOf(selection.to);
        const range = { below, first: idAt(selection.from, -CLOCKS_APART_MS) ?? FIRST_ID };
        const filter = { ...selectionFields(selection), ...range, state: selection.state, limit };
        const rows = (await sql.query(messageList, [JSON.stringify(filter)])).map(
          (row) => JSON.parse(String(row['row'])) as Fields,
        );
        const { end } = rows.at(-1) as { readonly end: string | null };
        return { items: rows.slice(0, -1).map(toDelivery), next: end ?? undefined };
      };
      return walkOn(from, page, ({ items }) => items.length === 0);
    },
    cancel: async (selection, { actor, reason } = API, limit = Infinity) => {
      let count = 0;
      let below: string | undefined = lastIdOf(selection.to);
      // One commit each: a million are cancelled without a transaction that holds up the housekeeping.
      while (below !== undefined && count < limit) {
        const most = Math.min(limit - count, CANCEL_STEP);
        const filter = JSON.stringify({ ...selectionFields(selection), below, limit: most });
        const [row]: readonly Record<string, unknown>[] = await sql.query(messageCancel, [
          filter,
          actor,
          reason ?? null,
        ]);
        count += Number(row?.['n']);
        below = typeof row?.['next'] === 'string' ? row['next'] : undefined;
      }
      return count;
    },
  };
}

function lastIdOf(to: DeliverySelection['to']): string {
  return idAt(to, CLOCKS_APART_MS) ?? LAST_ID;
}

/** The first id of a time: ids begin with it. */
function idAt(time: Date | undefined, byMs: number): string | undefined {
  if (time === undefined) return undefined;
  const hex = Math.max(0, time.getTime() + byMs)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}${FIRST_ID.slice(13)}`;
}

/** A record as it was written by `recordOf`. */
export function toDelivery(fields: Fields): DeliveryRecord {
  const record = readRecord<DeliveryRecord>(fields, ['createdAt', 'notBefore', 'nextAt']);
  const { flow, request } = record;
  return { ...record, request: shownRequest(request), flow: flow && readRecord<typeof flow>({ ...flow }, []) };
}
