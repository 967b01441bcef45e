import { get, type Route } from '../route.ts';
import { described, flag, optional, text, time, whole, words } from '../schema.ts';
import { AUDIT_RECORD, AUDIT_VERB, pageOf } from '../schemas/message-schemas.ts';
import {
  AUDIT_VERIFIED,
  COMMAND,
  IDEMPOTENCY_RECORD,
  IDEMPOTENCY_STATUS,
  OUTGOING_CALL,
  OVERVIEW,
  RANGE,
  SYSTEM,
  TRACED,
} from '../schemas/system-schemas.ts';
import { PAGING } from './shared-fields.ts';

export const SYSTEM_ROUTES: readonly Route[] = [
  get({
    id: 'overview',
    path: 'api/overview',
    summary: 'Is anything lost or late, and what needs somebody.',
    query: { range: described(optional(RANGE), 'Default: hour.') },
    answer: OVERVIEW,
    run: ({ operator, query }) => operator.overview(query),
  }),
  get({
    id: 'listIdempotencyRecords',
    path: 'api/idempotency',
    summary: 'Idempotency records, the newest first.',
    query: { status: optional(IDEMPOTENCY_STATUS), domain: optional(text), ...PAGING },
    answer: pageOf(IDEMPOTENCY_RECORD),
    run: ({ operator, query }) => operator.idempotencyRecords(query),
  }),
  get({
    id: 'listCommands',
    path: 'api/commands',
    summary: 'Durable commands, the last changed first.',
    query: { state: optional(text), name: optional(text), target: optional(text), ...PAGING },
    answer: pageOf(COMMAND),
    run: ({ operator, query }) => operator.commands(query),
  }),
  get({
    id: 'showRun',
    path: 'api/commands/run',
    summary: 'The commands of one target: the modules of a run.',
    query: { target: words(2_000), ...PAGING },
    answer: pageOf(COMMAND),
    run: ({ operator, query }) => operator.commands(query),
  }),
  get({
    id: 'listCalls',
    path: 'api/calls',
    summary: 'Outgoing calls, the newest first.',
    query: { service: optional(text), destination: optional(text), isOk: optional(flag), ...PAGING },
    answer: pageOf(OUTGOING_CALL),
    run: ({ operator, query }) => operator.outgoingCalls(query),
  }),
  get({
    id: 'trace',
    path: 'api/trace',
    summary: 'Everything one action did, in the order of time. Takes any id of it.',
    query: { id: text, limit: optional(whole(1, 5_000)) },
    answer: TRACED,
    run: ({ operator, query: { id, limit } }) => operator.trace(id, { limit }),
  }),
  get({
    id: 'system',
    path: 'api/system',
    summary: 'Processes, tables and what is wrong with them.',
    answer: SYSTEM,
    run: ({ operator }) => operator.system(),
  }),
  get({
    id: 'listAudit',
    path: 'api/audit',
    summary: 'What was changed by hand, the newest first.',
    query: {
      messageId: optional(text),
      actor: optional(text),
      verb: optional(AUDIT_VERB),
      handler: optional(text),
      since: optional(time),
      ...PAGING,
    },
    answer: pageOf(AUDIT_RECORD),
    run: ({ operator, query }) => operator.audit(query),
  }),
  get({
    id: 'verifyAudit',
    path: 'api/audit/verify',
    summary: 'Whether the audit is what was written. Names the first record that is not.',
    query: {
      place: described(optional(whole(0, Number.MAX_SAFE_INTEGER)), 'With hash: an anchor that was told before.'),
      hash: optional(words(64)),
    },
    answer: AUDIT_VERIFIED,
    run: ({ operator, query: { place, hash } }) =>
      operator.verifyAudit(place === undefined ? undefined : { place, hash: hash ?? '' }),
  }),
];
