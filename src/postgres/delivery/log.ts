import type { DeliveryEvent, DeliveryLog, DeliveryState } from '../../delivery/delivery-log.ts';
import type { DeliveryRequest } from '../../delivery/delivery-request.ts';
import { type Fields, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { readCursor, selectionFields } from './selection.ts';
import { bytesOf, shownRequest } from './shown-request.ts';
import { walkOn } from './walk-on.ts';

const CURSOR = /^(\d{4,}-[-\dT:.]+Z)~([-0-9a-f]{36})~(\d{1,9})~(-?\d{1,9})~(\d)$/i;

/** What each row of `http_event` tells, by its state, the latest first. */
const TOLD: readonly (readonly DeliveryState[])[] = [
  ['CREATED'],
  ['DELIVERED', 'ACTIVE'],
  ['RETRY', 'ERROR', 'ACTIVE'],
  ['FAILED', 'ACTIVE'],
  ['CANCELED'],
];

interface EventRow {
  readonly place: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly state: number;
  readonly at: Date;
  readonly startedAt: Date | undefined;
  readonly nextAt: Date | undefined;
  readonly error: string | undefined;
  readonly responseStatus: number | undefined;
  readonly responseHeaders: DeliveryEvent['responseHeaders'];
  readonly responseBase64: string | undefined;
  /** Nothing: all that told what it was about has been forgotten. */
  readonly request: DeliveryRequest | undefined;
  readonly actor: string | undefined;
}

/**
 * The log. An attempt is one row, and is told as what it began and ended with. Lines come in the order in which attempts ended: that one
 * had begun stands where it ended.
 */
export function deliveryLog(sql: SqlRunner, schema: string): DeliveryLog {
  const logList = `select ${schema}.http_log_list($1::text) as row`;
  return {
    list: ({ states, ...selection }, { limit, cursor: first }) => {
      const page = async (cursor: string | undefined): ReturnType<DeliveryLog['list']> => {
        // A row is begun with again, and what of it was told is left out: a page may end within one.
        const [, at, message, cycle, attempt, skip = '0'] = readCursor('log.list()', cursor, CURSOR) ?? [];
        const place = { at, message, cycle, attempt };
        const numbers =
          states && TOLD.flatMap((told, state) => (told.some((one) => states.includes(one)) ? [state] : []));
        const filter = { ...selectionFields(selection), ...place, states: numbers, limit: limit + 1 };
        const rows = (await sql.query(logList, [JSON.stringify(filter)])).map(
          (row) => JSON.parse(String(row['row'])) as Fields,
        );
        const { end } = rows.at(-1) as { readonly end: string | null };
        const lines = rows.slice(0, -1).flatMap((row) => linesOf(row, states));
        const skipped = `${at}~${message}~${cycle}~${attempt}`;
        const fresh = lines.filter((line) => line.place !== skipped || line.nth >= Number(skip));
        const items = fresh.slice(0, limit).map(({ event }) => event);
        const last = fresh[limit - 1];
        const next =
          fresh.length > limit && last ? `${last.place}~${last.nth + 1}` : end === null ? undefined : `${end}~9`;
        return { items, next };
      };
      return walkOn(first, page, ({ items }) => items.length === 0);
    },
  };
}

interface Line {
  readonly place: string;
  /** Which of the row's. */
  readonly nth: number;
  readonly event: DeliveryEvent;
}

function linesOf(fields: Fields, states: readonly DeliveryState[] | undefined): readonly Line[] {
  const row = readRecord<EventRow>(fields, ['at', 'startedAt', 'nextAt']);
  const { place, request } = row;
  if (request === undefined) return [];
  const shown = shownRequest(request);
  return (TOLD[row.state] ?? []).flatMap((state, nth) =>
    states === undefined || states.includes(state) ? [{ place, nth, event: eventOf(row, state, shown) }] : [],
  );
}

function eventOf(row: EventRow, state: DeliveryState, request: DeliveryRequest): DeliveryEvent {
  const { messageId, at, startedAt, attempt, nextAt, error, responseStatus, responseHeaders, responseBase64 } = row;
  if (state === 'CREATED') return { at, messageId, state, request, nextAt, actor: row.actor };
  if (state === 'CANCELED') return { at, messageId, state, request };
  if (state === 'ACTIVE') return { at: startedAt ?? at, messageId, state, request, attempt };
  const durationMs = startedAt && at.getTime() - startedAt.getTime();
  const responseBody = responseBase64 === undefined ? undefined : bytesOf(responseBase64.replaceAll('\n', ''));
  const ended = {
    at,
    messageId,
    state,
    request,
    attempt,
    durationMs,
    error,
    responseStatus,
    responseHeaders,
    responseBody,
  };
  return state === 'RETRY' ? { ...ended, nextAt } : ended;
}
