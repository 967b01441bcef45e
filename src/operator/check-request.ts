import { OptionCheck } from '../kernel/check-options.ts';
import { isBadId, parseDeliveryId } from './delivery-id.ts';
import { BULK_VERBS, type BulkRequest } from './bulk.ts';
import { AUDIT_VERBS, DEAD_LETTER_STATUSES } from './operator-records.ts';
import type { AuditFilter, By, DeadLetterFilter, Paging } from './operator.ts';
import { MAX_TRACE_LIMIT, type TraceOptions } from './trace.ts';

const ACTOR_LENGTH = 200;
const TEXT_LENGTH = 2_000;

/** Refuses a change whose author, reason or generation cannot be written down. Throws `INVALID_OPTIONS`. */
export function checkChange(
  verb: string,
  by: By,
  options: { readonly generation?: number | undefined; readonly needsReason?: boolean } = {},
): void {
  const check = new OptionCheck(`${verb}()`);
  if (check.object('by', by, "pass { actor: 'ann@example.com', reason: 'why' }")) {
    check.known(by, ['actor', 'reason'], 'by.');
    if (!isText(by.actor, ACTOR_LENGTH)) check.refuse('by.actor', by.actor, `write 1 to ${ACTOR_LENGTH} characters`);
    const mayMiss = options.needsReason !== true && by.reason === undefined;
    if (!mayMiss && !isText(by.reason, TEXT_LENGTH)) {
      check.refuse('by.reason', by.reason, `write why, in 1 to ${TEXT_LENGTH} characters`);
    }
  }
  if (options.generation !== undefined) {
    check.number('generation', options.generation, {
      min: 0,
      integer: true,
      write: 'write a whole number, or leave it out',
    });
  }
  check.done();
}

const FILTER_TEXTS = ['service', 'handler', 'type', 'key', 'errorCode', 'group', 'search'] as const;
const FILTER_TIMES = ['since', 'until'] as const;

/** Refuses a filter that is not one, all wrong fields at once. Throws `INVALID_OPTIONS`. */
export function checkFilter(
  verb: string,
  filter: DeadLetterFilter & Paging & { readonly status?: string | undefined },
  extra: readonly string[],
  maxLimit: number,
): void {
  const check = new OptionCheck(`${verb}()`);
  if (!check.object('filter', filter, 'pass an object such as { service: "billing" }')) check.done();
  checkFields(check, filter, extra);
  if (filter.status !== undefined) check.word('status', filter.status, DEAD_LETTER_STATUSES);
  checkLimit(check, filter.limit, maxLimit);
  check.done();
}

function checkFields(check: OptionCheck, filter: DeadLetterFilter, extra: readonly string[], prefix = ''): void {
  check.known(filter, [...FILTER_TEXTS, ...FILTER_TIMES, 'payload', ...extra], prefix);
  for (const name of FILTER_TEXTS) checkText(check, `${prefix}${name}`, filter[name]);
  for (const name of FILTER_TIMES) checkTime(check, `${prefix}${name}`, filter[name]);
  checkPayloadMatches(check, `${prefix}payload`, filter.payload);
}

const MOST_MATCHES = 20;
const DEEPEST_PATH = 50;

/** Refuses what is no list of values in a payload. */
export function checkPayloadMatches(check: OptionCheck, name: string, matches: unknown): void {
  if (matches === undefined) return;
  const fits = Array.isArray(matches) && matches.length <= MOST_MATCHES && matches.every(isPayloadMatch);
  if (!fits) check.refuse(name, matches, `pass up to ${MOST_MATCHES} of { path: ['customer', 'id'], value: 42 }`);
}

function isPayloadMatch(match: unknown): boolean {
  if (typeof match !== 'object' || match === null) return false;
  const { path, value } = match as { readonly path?: unknown; readonly value?: unknown };
  const isPath = Array.isArray(path) && path.length > 0 && path.length <= DEEPEST_PATH && path.every(isName);
  if (typeof value === 'string') return isPath && isName(value);
  return isPath && (value === null || typeof value === 'boolean' || Number.isFinite(value));
}

function isName(text: unknown): boolean {
  return typeof text === 'string' && text.length <= TEXT_LENGTH && text.isWellFormed() && !text.includes('\u0000');
}

/** Refuses a bulk operation that cannot be planned, all wrong fields at once. Throws `INVALID_OPTIONS`. */
export function checkBulk(request: BulkRequest): void {
  const check = new OptionCheck('planBulk()');
  const write = "pass an object such as { verb: 'replay', filter: { service: 'billing' } }";
  if (!check.object('request', request, write)) check.done();
  check.known(request, ['verb', 'filter', 'limit', 'canary', 'perSecond', 'generation']);
  const { verb, filter, limit, canary, perSecond } = request;
  check.word('verb', verb, BULK_VERBS);
  if (check.object('filter', filter, 'pass an object; {} is all of them')) {
    checkFields(check, filter, ['ids'], 'filter.');
    const { ids } = filter;
    const fits = Array.isArray(ids) && ids.length <= MAX_PAGE && ids.every((id) => !isBadId(parseDeliveryId(id)));
    if (ids !== undefined && !fits) check.refuse('filter.ids', ids, `pass up to ${MAX_PAGE} ids of dead letters`);
    if (verb === 'republish') checkRepublish(check, filter);
  }
  checkLimit(check, limit, MAX_BULK);
  if (canary !== undefined) {
    const most = verb === 'discard' ? 0 : MAX_CANARIES;
    const use = most === 0 ? 'leave it out: what is discarded is not tried' : `write a whole number from 0 to ${most}`;
    check.number('canary', canary, { min: 0, max: most, integer: true, write: use });
  }
  if (perSecond !== undefined) {
    check.number('perSecond', perSecond, { min: 0.1, max: 10_000, write: 'write a number from 0.1 to 10,000' });
  }
  check.done();
}

/** Published messages have no error and no id of a dead letter; which broker lost them since when must be said. */
function checkRepublish(check: OptionCheck, filter: BulkRequest['filter']): void {
  if (!filter.handler?.split('/').at(-1)?.startsWith('to-'))
    check.refuse('filter.handler', filter.handler, "name the transport's handler, such as 'to-redis'");
  if (filter.since === undefined)
    check.refuse('filter.since', filter.since, 'say since when the broker has lost messages');
  for (const name of ['errorCode', 'group', 'search', 'payload', 'ids'] as const)
    if (filter[name] !== undefined)
      check.refuse(`filter.${name}`, filter[name], 'leave it out: it is about dead letters');
}

const MAX_BULK = 1_000_000;
const MAX_CANARIES = 1_000;

/** Refuses a request for a list whose texts or limit are wrong. Throws `INVALID_OPTIONS`. */
export function checkList(verb: string, filter: Paging, texts: Readonly<Record<string, unknown>>): void {
  const check = new OptionCheck(`${verb}()`);
  check.known(filter, [...Object.keys(texts), 'limit', 'cursor']);
  for (const [name, value] of Object.entries(texts)) checkText(check, name, value);
  checkLimit(check, filter.limit, MAX_PAGE);
  check.done();
}

/** Refuses a request for the audit that is not one. Throws `INVALID_OPTIONS`. */
export function checkAuditFilter(filter: AuditFilter & Paging): void {
  const check = new OptionCheck('audit()');
  if (!check.object('filter', filter, 'pass an object such as { actor: "ann" }')) check.done();
  check.known(filter, ['messageId', 'actor', 'verb', 'handler', 'since', 'limit', 'cursor']);
  const { messageId, actor, verb, handler, since, limit, cursor } = filter;
  const id = messageId === undefined ? undefined : parseDeliveryId(messageId);
  if (id && isBadId(id)) check.refuse('messageId', messageId, `pass an id: ${id.problem}`);
  checkText(check, 'actor', actor);
  if (verb !== undefined) check.word('verb', verb, AUDIT_VERBS);
  checkText(check, 'handler', handler);
  checkTime(check, 'since', since);
  checkLimit(check, limit, MAX_PAGE);
  if (cursor !== undefined && !/^\d{1,18}$/.test(cursor)) {
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
  }
  check.done();
}

/** Refuses what `trace` cannot be told. Throws `INVALID_OPTIONS`. */
export function checkTrace(options: TraceOptions): void {
  const check = new OptionCheck('trace()');
  if (check.object('options', options, 'pass an object such as { limit: 100 }, or leave it out')) {
    check.known(options, ['limit']);
    checkLimit(check, options.limit, MAX_TRACE_LIMIT);
  }
  check.done();
}

/** The most a page may have. */
export const MAX_PAGE = 1_000;

/** Refuses a limit that is not one. */
export function checkLimit(check: OptionCheck, limit: number | undefined, max: number): void {
  if (limit === undefined) return;
  check.number('limit', limit, { min: 1, max, integer: true, write: `write a whole number from 1 to ${max}` });
}

/** Refuses a time that is not one. */
export function checkTime(check: OptionCheck, name: string, time: unknown): void {
  if (time !== undefined && !(time instanceof Date && Number.isFinite(time.getTime()))) {
    check.refuse(name, time, 'pass a valid Date, or leave it out');
  }
}

/** Refuses a text that is not one. */
export function checkText(check: OptionCheck, name: string, value: unknown): void {
  if (value !== undefined && !isText(value, TEXT_LENGTH)) check.refuse(name, value, 'write text, or leave it out');
}

function isText(value: unknown, longest: number): boolean {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= longest &&
    value.isWellFormed() &&
    !value.includes('\u0000')
  );
}
