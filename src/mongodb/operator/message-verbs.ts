import { OptionCheck } from '../../kernel/check-options.ts';
import { checkChange, checkFilter } from '../../operator/check-request.ts';
import { type DeliveryId, isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { BadId, HandlerRefusal, NotFound, Replayed, SkippedHandlers } from '../../operator/operator-outcomes.ts';
import type { By, Operator } from '../../operator/operator.ts';
import type { AuditVerb } from '../../operator/operator-records.ts';
import type { RowState } from '../row.ts';
import type { AuditedChange } from './audit-log.ts';
import { type FoundRow, fullName, messageIdOf } from './box-row.ts';
import { rowChanges } from './change-rows.ts';
import { messageEdit } from './edit-message.ts';
import { deadRows } from './dead-letter-list.ts';
import { allRowsOf } from './message-list.ts';
import { notFailed } from './not-failed.ts';
import { notOnMongodb } from './not-on-mongodb.ts';
import { knownHandlers, type OperatorParts, resolveHandlers } from './operator-parts.ts';

const MOST_REPLAYS = 10_000;
/** Of a key's dead ones at once. */
const MOST_OF_KEY = 10_000;

type Verbs = Pick<Operator, 'edit' | 'replay' | 'replayWhere' | 'replayKey' | 'discard' | 'discardKey' | 'skipKey'>;

/** The verbs that change messages. */
export function messageVerbs(parts: OperatorParts): Verbs {
  const changes = rowChanges(parts);
  const ofKey = (handler: string, key: string, limit: number): Promise<readonly FoundRow[] | HandlerRefusal> =>
    deadOfKey(parts, handler, key, limit);
  return {
    edit: messageEdit(parts, changes.prepared),
    async replay(id, by, options = {}) {
      checkReplay('replay', by, options.generation);
      const { handlers, rerun = false, skip = false } = options;
      checkHandlers('replay', id, handlers, rerun);
      const rows = await rowsOfMessage(parts, id, handlers);
      if (!Array.isArray(rows)) return rows;
      const refused = handlers && !skip ? refusedEnded(rows, rerun) : undefined;
      if (refused) return refused;
      const count = await changes.replay(rows, replayBy(by));
      if (handlers && skip) return { kind: 'replayed', count, skipped: skippedOf(rows) };
      return count > 0 ? { kind: 'replayed', count } : notFailed(rows);
    },
    async replayWhere(filter, by, options = {}) {
      checkReplay('replayWhere', by, options.generation);
      checkFilter('replayWhere', filter, ['limit'], MOST_REPLAYS);
      const { limit = 100, ...which } = filter;
      return { kind: 'replayed', count: await changes.replay(await deadRows(parts, which, limit), replayBy(by)) };
    },
    async replayKey(handler, key, by, options = {}) {
      checkReplay('replayKey', by, options.generation);
      const rows = await ofKey(handler, key, MOST_OF_KEY);
      return 'kind' in rows ? rows : { kind: 'replayed', count: await changes.replay(rows, replayBy(by)) };
    },
    async discard(id, by, options = {}) {
      checkChange('discard', by, { needsReason: true });
      const { handlers, open = false } = options;
      checkHandlers('discard', id, handlers, false);
      const rows = await rowsOfMessage(parts, id, handlers);
      if (!Array.isArray(rows)) return rows;
      const states: readonly RowState[] = open ? ['dead', 'open', 'waiting'] : ['dead'];
      const count = await changes.discard(rows, states, discardBy(by));
      return count > 0 ? { kind: 'discarded', count } : notFailed(rows);
    },
    async discardKey(handler, key, by) {
      checkChange('discardKey', by, { needsReason: true });
      const rows = await ofKey(handler, key, MOST_OF_KEY);
      if ('kind' in rows) return rows;
      return { kind: 'discarded', count: await changes.discard(rows, ['dead'], discardBy(by)) };
    },
    async skipKey(handler, key, by) {
      checkChange('skipKey', by, { needsReason: true });
      const rows = await ofKey(handler, key, 1);
      if ('kind' in rows) return rows;
      const count = await changes.discard(rows, ['dead'], discardBy(by, 'skip'));
      const [first] = rows;
      return first && count > 0 ? { kind: 'skipped', messageId: messageIdOf(first) } : { kind: 'nothing-failed' };
    },
  };
}

function checkReplay(verb: string, by: By, generation: number | undefined): void {
  checkChange(verb, by, { generation });
  if (generation !== undefined) throw notOnMongodb('a replay into another generation');
}

function checkHandlers(verb: string, id: string, handlers: readonly string[] | undefined, rerun: boolean): void {
  const parsed = parseDeliveryId(id);
  const check = new OptionCheck(`${verb}()`);
  if (handlers !== undefined && !isBadId(parsed) && parsed.handler !== undefined)
    check.refuse('handlers', handlers, "leave it out with a dead letter's id, or pass the message's id");
  if (handlers?.length === 0) check.refuse('handlers', handlers, 'name at least one handler, or leave it out');
  if (rerun && handlers === undefined) check.refuse('handlers', handlers, 'name the handlers that are to run again');
  check.done();
}

/** The rows of a message, or of those of its handlers that are named. */
async function rowsOfMessage(
  parts: OperatorParts,
  id: string,
  names: readonly string[] | undefined,
): Promise<FoundRow[] | BadId | NotFound | HandlerRefusal> {
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return parsed;
  const known = await knownHandlers(parts);
  const named = names && resolveHandlers(known, names);
  if (named && 'kind' in named) return named;
  const numbers = named?.map(({ number }) => number) ?? numbersOf(parsed);
  const all = (await allRowsOf(parts, known, [parsed.messageId])).get(parsed.messageId) ?? [];
  const rows = all.filter(({ handler }) => numbers === undefined || numbers.includes(handler.number));
  return rows.length > 0 ? rows : { kind: 'not-found' };
}

function numbersOf({ handler }: DeliveryId): readonly number[] | undefined {
  return handler === undefined ? undefined : [handler];
}

/** Nothing in MongoDB runs again that has ended: there is no handler that is declared repeatable. */
function refusedEnded(rows: readonly FoundRow[], rerun: boolean): Replayed | undefined {
  const handlers = namesIn(rows, ['done']);
  return handlers.length === 0 ? undefined : { kind: rerun ? 'not-repeatable' : 'already-delivered', handlers };
}

function skippedOf(rows: readonly FoundRow[]): SkippedHandlers {
  return { notRepeatable: namesIn(rows, ['done', 'discarded']), pending: namesIn(rows, ['open', 'waiting']) };
}

function namesIn(rows: readonly FoundRow[], states: readonly RowState[]): readonly string[] {
  return rows.filter(({ row }) => states.includes(row.state)).map(({ handler }) => fullName(handler));
}

async function deadOfKey(
  parts: OperatorParts,
  handler: string,
  key: string,
  limit: number,
): Promise<readonly FoundRow[] | HandlerRefusal> {
  const named = resolveHandlers(await knownHandlers(parts), [handler]);
  if ('kind' in named) return named;
  return deadRows(parts, { handler: named.map(fullName)[0], key }, limit);
}

function replayBy(by: By): AuditedChange {
  return { verb: 'replay', by, details: ({ row }) => ({ cycle: row.replays + 1 }) };
}

function discardBy(by: By, verb: AuditVerb = 'discard'): AuditedChange {
  return { verb, by, details: ({ row }) => ({ attempts: row.attempts, cycle: row.replays }) };
}
