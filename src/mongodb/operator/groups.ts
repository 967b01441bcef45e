import { OptionCheck } from '../../kernel/check-options.ts';
import { checkList } from '../../operator/check-request.ts';
import {
  ERROR_GROUP_STATES,
  type ErrorGroup,
  type ErrorGroupFilter,
  type ErrorGroups,
} from '../../operator/error-group.ts';
import type { DeadLetter } from '../../operator/operator-records.ts';
import type { Page, Paging } from '../../operator/operator.ts';
import { errorFingerprint } from '../../relay/error-fingerprint.ts';
import { systemEffects } from '../../system/effects.ts';
import { handlersOf, knownHandlers, type OperatorParts } from './operator-parts.ts';
import { deadLetterOf } from './shown-rows.ts';
import { walkRows, WITHOUT_PAYLOAD } from './walk.ts';

/** So many dead letters are looked at, the newest. */
const MOST_LOOKED_AT = 10_000;
/** The same for the overview, which is read all the time. */
const MOST_AT_A_GLANCE = 1_000;
const HOUR_MS = 3_600_000;
const TREND_HOURS = 24;

interface Grouped {
  readonly group: ErrorGroup;
  readonly sample: DeadLetter;
}

/** Dead letters by cause, made of those that are dead now: what was replayed or discarded is no longer in a group. */
export function groupReads(parts: OperatorParts): Pick<ErrorGroups, 'groups' | 'group'> {
  return {
    groups: (filter = {}) => listGroups(parts, filter),
    async group(id) {
      const found = (await grouped(parts, {})).find(({ group }) => group.id === id);
      return found ? { kind: 'found', ...found } : { kind: 'not-found' };
    },
  };
}

/** The groups of the newest dead letters. */
export async function recentGroups(parts: OperatorParts): Promise<readonly ErrorGroup[]> {
  return (await grouped(parts, {}, MOST_AT_A_GLANCE)).map(({ group }) => group);
}

async function listGroups(parts: OperatorParts, filter: ErrorGroupFilter & Paging): Promise<Page<ErrorGroup>> {
  const { state, service, handler, type, search, isPending: _, limit = 100, cursor } = filter;
  const check = new OptionCheck('groups()');
  if (state !== undefined) check.word('state', state, ERROR_GROUP_STATES);
  if (cursor !== undefined && !/^\d{1,5}$/.test(cursor))
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
  check.done();
  checkList('groups', { limit }, { service, handler, type, search });
  // None has a state of its own here.
  if (state !== undefined && state !== 'open') return { items: [], next: undefined };
  const all = (await grouped(parts, filter)).map(({ group }) => group).filter((one) => fits(one, type, search));
  const from = Number(cursor ?? 0);
  const items = all.slice(from, from + limit);
  return { items, next: from + limit < all.length ? String(from + limit) : undefined };
}

function fits({ type: ofGroup, error }: ErrorGroup, type: string | undefined, search: string | undefined): boolean {
  if (type !== undefined && ofGroup !== type) return false;
  if (search === undefined) return true;
  const part = search.toLowerCase();
  return [error.name, error.code, error.message].some((text) => text?.toLowerCase().includes(part) === true);
}

/** The last seen first. */
async function grouped(
  parts: OperatorParts,
  filter: ErrorGroupFilter,
  most = MOST_LOOKED_AT,
): Promise<readonly Grouped[]> {
  const handlers = handlersOf(await knownHandlers(parts), filter);
  const letters: DeadLetter[] = [];
  for await (const found of walkRows(
    { handlers, states: ['dead'] },
    { order: 'newest', projection: WITHOUT_PAYLOAD },
  )) {
    letters.push(deadLetterOf(found, 'pending'));
    if (letters.length === most) break;
  }
  const byGroup = Map.groupBy(
    letters.filter(({ group }) => group !== undefined),
    ({ group }) => group ?? '',
  );
  return [...byGroup]
    .map(([id, ofGroup]) => groupedOf(id, ofGroup))
    .toSorted((a, b) => b.group.lastSeenAt.getTime() - a.group.lastSeenAt.getTime());
}

function groupedOf(id: string, letters: readonly DeadLetter[]): Grouped {
  const sorted = letters.toSorted((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime());
  const [sample] = sorted;
  const first = sorted.at(-1);
  if (!sample?.error || !first?.error) throw new TypeError('an error group without an error');
  const { name, code, message } = first.error;
  const group: ErrorGroup = {
    id,
    service: sample.service,
    handler: sample.handler,
    type: sample.type,
    error: { name, code, message },
    frames: errorFingerprint(first.error).frames,
    state: 'open',
    changed: undefined,
    pending: letters.length,
    total: letters.length,
    firstSeenAt: first.updatedAt,
    lastSeenAt: sample.updatedAt,
    trend: trendOf(letters),
  };
  return { group, sample };
}

function trendOf(letters: readonly DeadLetter[]): readonly number[] {
  const thisHour = Math.floor(systemEffects.now().wallMs / HOUR_MS);
  const trend = Array.from({ length: TREND_HOURS }, () => 0);
  for (const { updatedAt } of letters) {
    const place = TREND_HOURS - 1 - (thisHour - Math.floor(updatedAt.getTime() / HOUR_MS));
    const count = trend[place];
    if (count !== undefined) trend[place] = count + 1;
  }
  return trend;
}
