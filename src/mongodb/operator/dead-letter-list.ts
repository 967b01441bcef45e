import { checkFilter, MAX_PAGE } from '../../operator/check-request.ts';
import type { DeadLetter, DeadLetterStatus } from '../../operator/operator-records.ts';
import type { DeadLetterFilter, FoundPage, Paging } from '../../operator/operator.ts';
import { searchedText } from '../../operator/searched-text.ts';
import type { RowState } from '../row.ts';
import { jsonText } from '../stored-json.ts';
import type { FoundRow } from './box-row.ts';
import { handlersOf, knownHandlers, type OperatorParts } from './operator-parts.ts';
import { walkPage } from './page-rows.ts';
import { hasValues } from './payload-match.ts';
import { deadLetterOf, deadLetterStatus } from './shown-rows.ts';
import { readPlace, type Selection, walkRows, WITHOUT_PAYLOAD } from './walk.ts';

const STATES: Readonly<Record<DeadLetterStatus, readonly RowState[]>> = {
  pending: ['dead'],
  replaying: ['open', 'waiting'],
  replayed: ['done'],
  discarded: ['discarded'],
};

/** Dead letters, the newest message first. */
export async function listDeadLetters(
  parts: OperatorParts,
  filter: DeadLetterFilter & Paging & { readonly status?: DeadLetterStatus | undefined },
): Promise<FoundPage<DeadLetter>> {
  checkFilter('deadLetters', filter, ['status', 'limit', 'cursor'], MAX_PAGE);
  const { status = 'pending', limit = 100, cursor } = filter;
  const after = readPlace('deadLetters', cursor);
  const selection = await selectionOf(parts, filter, status);
  const way = { order: 'newest', after, projection: projectionOf(filter) } as const;
  const { items, next } = await walkPage(selection, way, limit, async (rows) =>
    rows.flatMap((row): readonly (readonly [FoundRow, DeadLetter])[] => {
      const letter = fitting(row, status, filter);
      return letter ? [[row, letter]] : [];
    }),
  );
  return { items, next, note: undefined };
}

/** Rows that have failed and fit, the oldest message first, at most `limit`. */
export async function deadRows(
  parts: OperatorParts,
  filter: DeadLetterFilter,
  limit: number,
): Promise<readonly FoundRow[]> {
  const found: FoundRow[] = [];
  const selection = await selectionOf(parts, filter, 'pending');
  for await (const row of walkRows(selection, { order: 'oldest', projection: projectionOf(filter) })) {
    if (fitting(row, 'pending', filter)) found.push(row);
    if (found.length === limit) break;
  }
  return found;
}

async function selectionOf(
  parts: OperatorParts,
  filter: DeadLetterFilter,
  status: DeadLetterStatus,
): Promise<Selection> {
  return { handlers: handlersOf(await knownHandlers(parts), filter), states: STATES[status], key: filter.key };
}

function projectionOf({ payload = [], search }: DeadLetterFilter): typeof WITHOUT_PAYLOAD {
  return payload.length > 0 || search !== undefined ? { headers: 0 } : WITHOUT_PAYLOAD;
}

/** The dead letter, if it has this status and fits. */
function fitting(found: FoundRow, status: DeadLetterStatus, filter: DeadLetterFilter): DeadLetter | undefined {
  const { row } = found;
  if (deadLetterStatus(row) !== status) return undefined;
  const letter = deadLetterOf(found, status);
  const { type, since, until, errorCode, group, payload = [], search } = filter;
  const isFitting =
    (type === undefined || letter.type === type) &&
    (since === undefined || letter.updatedAt >= since) &&
    (until === undefined || letter.updatedAt < until) &&
    (errorCode === undefined || letter.error?.code === errorCode) &&
    (group === undefined || letter.group === group) &&
    hasValues(row.payload, payload) &&
    (search === undefined || isInLetter(search, letter, searchedText(jsonText(row.payload))));
  return isFitting ? letter : undefined;
}

function isInLetter(part: string, { id, type, key, error }: DeadLetter, payload: string): boolean {
  return [id, type, key, error?.message, payload].some(
    (text) => text?.toLowerCase().includes(part.toLowerCase()) === true,
  );
}
