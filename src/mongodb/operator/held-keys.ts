import { checkList } from '../../operator/check-request.ts';
import type { HeldKey } from '../../operator/operator-records.ts';
import type { Page, Paging } from '../../operator/operator.ts';
import type { RowState } from '../row.ts';
import { type FoundRow, messageIdOf, OPEN_STATES } from './box-row.ts';
import { handlersOf, knownHandlers, type OperatorParts } from './operator-parts.ts';
import { walkPage } from './page-rows.ts';
import { readPlace, WITHOUT_PAYLOAD } from './walk.ts';

/** Of these, later messages of the key wait. */
export const HOLDING_STATES: readonly RowState[] = ['waiting', 'dead'];

interface KeyCounts {
  readonly _id: { readonly service: string; readonly key: string };
  readonly open: number;
  readonly failed: number;
  /** The place of the first that holds the others. */
  readonly holderSeq: number;
}

/** Keys whose later messages wait, those that have waited for longest first. */
export async function listHeldKeys(
  parts: OperatorParts,
  filter: Paging & { readonly service?: string | undefined; readonly handler?: string | undefined },
): Promise<Page<HeldKey>> {
  const { service, handler, limit = 100, cursor } = filter;
  checkList('heldKeys', filter, { service, handler });
  const after = readPlace('heldKeys', cursor);
  const selection = { handlers: handlersOf(await knownHandlers(parts), filter), states: HOLDING_STATES };
  const way = { order: 'oldest', after, projection: WITHOUT_PAYLOAD } as const;
  const { items, next } = await walkPage(selection, way, limit, async (rows) => {
    const keyed = rows.filter(({ row }) => row.key !== null);
    const counts = await countsOf(keyed);
    return keyed.flatMap((found): readonly (readonly [FoundRow, HeldKey])[] => {
      const ofKey = counts.get(nameOf(found.box.name, found.row.service, found.row.key ?? ''));
      // Of a key that several hold, the first has the line.
      return ofKey?.holderSeq === found.row.seq ? [[found, heldKey(found, ofKey)]] : [];
    });
  });
  return { items, next };
}

function nameOf(box: string, service: string, key: string): string {
  return JSON.stringify([box, service, key]);
}

function heldKey(found: FoundRow, { open, failed }: KeyCounts): HeldKey {
  const { row, handler } = found;
  const holder = {
    messageId: messageIdOf(found),
    status: row.state === 'dead' ? 'failed' : 'waiting',
    attempts: row.attempts,
    dueAt: row.dueAt ?? undefined,
    error: row.error ?? undefined,
    since: row.deadAt ?? undefined,
    createdAt: row.createdAt,
  } as const;
  return { key: row.key ?? '', service: handler.service, handler: handler.name, holder, behind: open - 1, failed };
}

/** What there is of the keys of these rows, by index. */
async function countsOf(rows: readonly FoundRow[]): Promise<ReadonlyMap<string, KeyCounts>> {
  const counts = new Map<string, KeyCounts>();
  for (const ofBox of Map.groupBy(rows, ({ box }) => box).entries()) {
    const [box, found] = ofBox;
    const isHolding = { $in: ['$state', [...HOLDING_STATES]] };
    const counted = await box.rows
      .aggregate<KeyCounts>([
        {
          $match: {
            service: { $in: [...new Set(found.map(({ row }) => row.service))] },
            key: { $in: [...new Set(found.flatMap(({ row }) => row.key ?? []))] },
            state: { $in: [...OPEN_STATES] },
          },
        },
        {
          $group: {
            _id: { service: '$service', key: '$key' },
            open: { $sum: 1 },
            failed: { $sum: { $cond: [{ $eq: ['$state', 'dead'] }, 1, 0] } },
            holderSeq: { $min: { $cond: [isHolding, '$seq', null] } },
          },
        },
      ])
      .toArray();
    for (const one of counted) {
      const { _id: of } = one;
      counts.set(nameOf(box.name, of.service, of.key), one);
    }
  }
  return counts;
}
