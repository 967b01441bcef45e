import type { Document } from 'mongodb';
import { checkMessageFilter } from '../../operator/check-message-filter.ts';
import type { ListedMessage, MessageFilter, MessagePage, MessageTab } from '../../operator/message-list.ts';
import type { Paging } from '../../operator/operator.ts';
import type { RowState } from '../row.ts';
import { ALL_STATES, type BoxRow, type FoundRow, messageIdOf, rowIdOf } from './box-row.ts';
import { handlersOf, type KnownHandler, knownHandlers, type OperatorParts } from './operator-parts.ts';
import { walkPage } from './page-rows.ts';
import { hasValues } from './payload-match.ts';
import { errorLine, listedOf } from './shown-rows.ts';
import { comparePlaces, readPlace, type Selection, WITHOUT_PAYLOAD } from './walk.ts';

/** The state of a row that puts a message into a tab. */
export const TAB_STATES: Partial<Record<MessageTab, RowState>> = {
  pending: 'open',
  retrying: 'waiting',
  failed: 'dead',
  delivered: 'done',
  discarded: 'discarded',
};

const NOT_KEPT: Partial<Record<MessageTab, string>> = {
  in_flight: 'MongoDB does not know which messages are being handled at the moment: they are pending or retrying',
  scheduled: 'an outbox in MongoDB has no scheduled messages',
  cancelled: 'an outbox in MongoDB has no cancelled messages',
};

/** Messages, the newest first. */
export async function listMessages(parts: OperatorParts, filter: MessageFilter & Paging): Promise<MessagePage> {
  const { cursor, ...rest } = filter;
  checkMessageFilter(rest);
  const after = readPlace('messages', cursor);
  const { status, limit = 100, key, since, until, payload = [] } = filter;
  const state = status && TAB_STATES[status];
  if (status !== undefined && state === undefined)
    return { items: [], next: undefined, searchedBackTo: undefined, note: NOT_KEPT[status] };
  const known = await knownHandlers(parts);
  const states = state === undefined ? ALL_STATES : [state];
  const selection: Selection = { handlers: handlersOf(known, filter), states, key, since, until };
  const fits = (row: BoxRow): boolean => fitsFilter(row, filter);
  const projection = payload.length > 0 ? { headers: 0 } : WITHOUT_PAYLOAD;
  const page = await walkPage(selection, { order: 'newest', after, projection }, limit, async (rows) => {
    const met = rows.filter(({ row }) => fits(row));
    const all = await allRowsOf(parts, known, met.map(messageIdOf), projection);
    return met.flatMap((one): readonly (readonly [FoundRow, ListedMessage])[] => {
      const ofMessage = all.get(messageIdOf(one)) ?? [one];
      const listed = listedOf(ofMessage);
      if (status !== undefined && listed.tab !== status) return [];
      // A message has its line where the newest of its rows that fit stands.
      const isMetBefore = ofMessage.some(
        (other) => isSelected(other, selection) && fits(other.row) && comparePlaces(other, one) > 0,
      );
      return isMetBefore ? [] : [[one, listed]];
    });
  });
  return { ...page, note: undefined };
}

function isSelected({ row, handler }: FoundRow, { handlers, states, key, since, until }: Selection): boolean {
  const atMs = row.seq / 1_000;
  return (
    handlers.some(({ id }) => id === handler.id) &&
    states.includes(row.state) &&
    (key === undefined || row.key === key) &&
    (since === undefined || atMs >= since.getTime()) &&
    (until === undefined || atMs < until.getTime())
  );
}

function fitsFilter(row: BoxRow, { type, error, payload = [] }: MessageFilter): boolean {
  if (
    type?.endsWith('*') === true
      ? !row.eventType.startsWith(type.slice(0, -1))
      : row.eventType !== (type ?? row.eventType)
  )
    return false;
  if (error !== undefined && !isIn(error, errorLine(row.error), row.error?.name)) return false;
  return payload.length === 0 || (row.payload !== undefined && hasValues(row.payload, payload));
}

function isIn(part: string, ...texts: readonly (string | undefined)[]): boolean {
  return texts.some((text) => text?.toLowerCase().includes(part.toLowerCase()) === true);
}

/** All rows of messages, by the message's id. */
export async function allRowsOf(
  { boxes }: OperatorParts,
  known: readonly KnownHandler[],
  messageIds: readonly string[],
  projection: Document = WITHOUT_PAYLOAD,
): Promise<ReadonlyMap<string, readonly FoundRow[]>> {
  const found = new Map<string, FoundRow[]>();
  if (messageIds.length === 0) return found;
  for (const box of boxes) {
    const handlers = new Map(known.filter(({ of }) => of === box).map((one) => [one.service, one]));
    const services = box.name === 'inbox' ? [...handlers.keys()] : [''];
    const ids = new Set(services.flatMap((service) => messageIds.map((id) => rowIdOf(box.name, service, id))));
    const rows = await box.rows.find({ _id: { $in: [...ids] } }, { projection }).toArray();
    for (const row of rows as BoxRow[]) {
      const handler = handlers.get(row.service);
      if (!handler) continue;
      const one = { box, row, handler };
      const id = messageIdOf(one);
      found.set(id, [...(found.get(id) ?? []), one]);
    }
  }
  return found;
}
