import { checkMessageFilter, payloadDocument } from '../../operator/check-message-filter.ts';
import type { ListedMessage, MessageFilter, MessagePage, Messages, MessageTab } from '../../operator/message-list.ts';
import { listedMessage, type MessageRow } from '../../operator/message-rows.ts';
import type { Paging } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { mayMeetHidden } from './searched-payload.ts';
import { sealedNote } from './sealed-note.ts';
import { countTabs } from './message-tabs.ts';
import { type Fields, readRecord } from './read-record.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const DATES = ['createdAt', 'firstFailedAt', 'dueAt', 'failedAt', 'doneAt'] as const;
const NOTHING: Omit<MessagePage, 'note'> = { items: [], next: undefined, searchedBackTo: undefined };

/** Which deliveries a message of a tab has at least. */
const SOUGHT: Readonly<Record<MessageTab, Fields>> = {
  pending: { isDone: false, state: 0 },
  in_flight: { isDone: false, isRunning: true },
  scheduled: { isDone: false, state: 1, isRetry: false },
  retrying: { isDone: false, state: 1, isRetry: true },
  failed: { isDone: false, state: 2 },
  delivered: { isOpen: false, outcome: 0 },
  discarded: { isOpen: false, outcome: 1 },
  cancelled: { isOpen: false, outcome: 2 },
};

/** Looking through messages. */
export function messageList(sql: SqlRunner, schema: string): Messages {
  return {
    messages: async (filter = {}) => {
      const page = await listMessages(sql, schema, filter);
      const note = await sealedNote(sql, schema, (filter.payload ?? []).length > 0);
      return { ...page, note };
    },
    messageTabs: () => countTabs(sql, schema),
  };
}

type Read = MessageRow & { readonly fits: boolean };

/** So often at most a page is asked for once more because what was met is in another tab: each costs what a full page does. */
const MOST_LOOKS = 20;

async function listMessages(
  sql: SqlRunner,
  schema: string,
  filter: MessageFilter & Paging,
): Promise<Omit<MessagePage, 'note'>> {
  checkMessageFilter(filter);
  const { limit = 100, payload = [] } = filter;
  const document = payload.length === 0 ? null : payloadDocument(payload);
  if (document === undefined) return NOTHING;
  const meetsHidden = mayMeetHidden(payload) || undefined;
  const request = { ...sought(filter), payload: document ?? undefined, meetsHidden, want: limit + 1 };
  const messages: ListedMessage[] = [];
  for (let look = 1, { below } = request; ; look += 1) {
    const { met, end } = await walk(sql, schema, { ...request, below });
    for (const message of met) {
      if (filter.status === undefined || message.tab === filter.status) messages.push(message);
    }
    if (messages.length > limit) {
      const items = messages.slice(0, limit);
      return pageTo(items, items.at(-1)?.id ?? LAST_ID);
    }
    if (end === null) return { ...NOTHING, items: messages };
    // Fewer than were wanted: the walk was long enough.
    if (met.length <= limit || look === MOST_LOOKS) return pageTo(messages, end);
    below = end;
  }
}

/** The messages that were met, and where the walk ended; null at the end of the list. */
async function walk(
  sql: SqlRunner,
  schema: string,
  request: Fields,
): Promise<{ readonly met: readonly ListedMessage[]; readonly end: string | null }> {
  const answer = await sql.query(`select l.row from ${schema}.message_list($1::text) as l (row)`, [
    JSON.stringify(request),
  ]);
  const lines = answer.map(({ row }) => JSON.parse(row as string) as Fields);
  const end = lines.pop()?.['end'] as string | null;
  const met = groupById(lines.map((line) => readRecord<Read>(line, DATES)))
    .filter((rows) => rows.some(({ fits }) => fits))
    .map(listedMessage);
  return { met, end };
}

function pageTo(items: MessagePage['items'], id: string): Omit<MessagePage, 'note'> {
  return { items, next: id, searchedBackTo: new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) };
}

/** The filter as the function takes it: what is left out is not there. */
function sought(filter: MessageFilter & Paging): Fields & { readonly below: string } {
  const { status, type, key, service, handler, error, since, until, cursor } = filter;
  const isPrefix = type?.endsWith('*') === true;
  const before = until === undefined ? LAST_ID : firstIdOf(until);
  return {
    ...(status === undefined ? {} : SOUGHT[status]),
    ...(isPrefix ? { prefix: type.slice(0, -1) } : { type }),
    key,
    service,
    handler,
    error,
    from: since === undefined ? FIRST_ID : firstIdOf(since),
    below: cursor !== undefined && cursor < before ? cursor : before,
  };
}

/** The smallest id that is made at a time: ids begin with it. */
function firstIdOf(time: Date): string {
  const ms = Math.min(Math.max(time.getTime(), 0), 2 ** 48 - 1);
  const hex = Math.floor(ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** In the order of the ids, the newest first. */
function groupById(rows: readonly Read[]): readonly (readonly Read[])[] {
  const groups = new Map<string, Read[]>();
  for (const row of rows) {
    const group = groups.get(row.id);
    if (group) group.push(row);
    else groups.set(row.id, [row]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, group]) => group);
}
