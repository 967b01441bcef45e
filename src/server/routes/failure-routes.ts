import { BULK_OUTCOMES, BULK_STATES, BULK_VERBS } from '../../operator/bulk.ts';
import { ERROR_GROUP_STATES } from '../../operator/error-group.ts';
import { get, post, type Route } from '../route.ts';
import { described, flag, number, oneOf, optional, text, time, whole } from '../schema.ts';
import { DEAD_LETTER, DEAD_LETTER_STATUS, foundPageOf, pageOf } from '../schemas/message-schemas.ts';
import { REPLAYED_MANY } from '../schemas/outcome-schemas.ts';
import {
  BULK,
  BULK_CHANGED,
  BULK_FILTER,
  BULK_ITEM,
  BULK_PLANNED,
  BULK_STEP,
  DEAD_LETTER_FILTER,
  ERROR_GROUP,
  FOUND_BULK,
  FOUND_GROUP,
  GROUP_CHANGED,
} from '../schemas/work-schemas.ts';
import { GENERATION, PAGING, REASON } from './shared-fields.ts';

const deadLetters: readonly Route[] = [
  get({
    id: 'listDeadLetters',
    path: 'api/dead-letters',
    summary: 'Dead letters, the newest first.',
    query: {
      status: described(optional(DEAD_LETTER_STATUS), 'Default: pending.'),
      service: optional(text),
      handler: optional(text),
      type: optional(text),
      key: optional(text),
      since: optional(time),
      until: optional(time),
      errorCode: optional(text),
      group: described(optional(text), 'The id of an error group.'),
      search: described(optional(text), 'Part of the id, type, key, error message or payload.'),
      ...PAGING,
    },
    takesPayload: true,
    answer: foundPageOf(DEAD_LETTER),
    run: ({ operator, query, payload }) =>
      operator.deadLetters({ ...query, ...(payload === undefined ? {} : { payload }) }),
  }),
  post({
    id: 'replayDeadLetters',
    path: 'api/dead-letters/replay',
    summary: 'Replays the dead letters that fit, the oldest failure first. For more than a few, plan a bulk operation.',
    body: { filter: DEAD_LETTER_FILTER, limit: optional(whole(1, 10_000)), ...GENERATION, ...REASON },
    answer: REPLAYED_MANY,
    run: ({ operator, body: { filter, limit, generation }, by }) =>
      operator.replayWhere({ ...filter, limit }, by, { generation }),
  }),
];

const groups: readonly Route[] = [
  get({
    id: 'listGroups',
    path: 'api/groups',
    summary: 'Dead letters by cause, the last seen first.',
    query: {
      state: optional(oneOf(...ERROR_GROUP_STATES)),
      service: optional(text),
      handler: optional(text),
      type: optional(text),
      search: described(optional(text), "Part of the error's name, code or message."),
      isPending: described(optional(flag), 'Only those with dead letters that nobody has dealt with.'),
      ...PAGING,
    },
    answer: pageOf(ERROR_GROUP),
    run: ({ operator, query }) => operator.groups(query),
  }),
  get({
    id: 'showGroup',
    path: 'api/groups/:id',
    summary: 'An error group, with its newest dead letter.',
    answer: FOUND_GROUP,
    run: ({ operator, params: { id = '' } }) => operator.group(id),
  }),
  post({
    id: 'resolveGroup',
    path: 'api/groups/:id/resolve',
    summary: 'Dealt with: opens by itself when it happens again.',
    body: REASON,
    answer: GROUP_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.resolveGroup(id, by),
  }),
  post({
    id: 'ignoreGroup',
    path: 'api/groups/:id/ignore',
    summary: 'Known: nobody is called however often it happens.',
    body: REASON,
    answer: GROUP_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.ignoreGroup(id, by),
  }),
  post({
    id: 'reopenGroup',
    path: 'api/groups/:id/reopen',
    summary: 'Needs somebody again.',
    body: REASON,
    answer: GROUP_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.reopenGroup(id, by),
  }),
];

const bulkReads: readonly Route[] = [
  get({
    id: 'listBulks',
    path: 'api/bulk',
    summary: 'Bulk operations, the newest first.',
    query: { state: optional(oneOf(...BULK_STATES)), ...PAGING },
    answer: pageOf(BULK),
    run: ({ operator, query }) => operator.bulks(query),
  }),
  get({
    id: 'showBulk',
    path: 'api/bulk/:id',
    summary: 'How far a bulk operation is.',
    answer: FOUND_BULK,
    run: ({ operator, params: { id = '' } }) => operator.bulk(id),
  }),
  get({
    id: 'listBulkItems',
    path: 'api/bulk/:id/items',
    summary: 'Its dead letters in the order they begin, each with its outcome.',
    query: { outcome: optional(oneOf(...BULK_OUTCOMES)), ...PAGING },
    answer: pageOf(BULK_ITEM),
    run: ({ operator, params: { id = '' }, query }) => operator.bulkItems(id, query),
  }),
];

const bulkVerbs: readonly Route[] = [
  post({
    id: 'planBulk',
    path: 'api/bulk',
    summary: 'Freezes what fits now and tells what would happen; start it within an hour.',
    body: {
      verb: oneOf(...BULK_VERBS),
      filter: BULK_FILTER,
      limit: optional(whole(1, 1_000_000)),
      canary: optional(whole(0, 1_000)),
      perSecond: optional(number),
      ...GENERATION,
      ...REASON,
    },
    answer: BULK_PLANNED,
    run: ({ operator, body: { verb, filter, limit, canary, perSecond, generation }, by }) =>
      operator.planBulk({ verb, filter, limit, canary, perSecond, generation }, by),
  }),
  // Before the routes with an id, one of which it would be otherwise.
  post({
    id: 'stepBulks',
    path: 'api/bulk/step',
    summary: 'Carries on what is due; `holdfast serve` and relays do so by themselves.',
    answer: BULK_STEP,
    run: ({ operator }) => operator.stepBulks(),
  }),
  post({
    id: 'startBulk',
    path: 'api/bulk/:id/start',
    summary: 'Begins with what was planned. A discard needs a reason.',
    body: REASON,
    answer: BULK_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.startBulk(id, by),
  }),
  post({
    id: 'pauseBulk',
    path: 'api/bulk/:id/pause',
    summary: 'What has begun goes on; nothing further begins.',
    body: REASON,
    answer: BULK_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.pauseBulk(id, by),
  }),
  post({
    id: 'resumeBulk',
    path: 'api/bulk/:id/resume',
    summary: 'Goes on; after a failed canary, with all that is left.',
    body: REASON,
    answer: BULK_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.resumeBulk(id, by),
  }),
  post({
    id: 'cancelBulk',
    path: 'api/bulk/:id/cancel',
    summary: 'What has begun goes on; the rest never begins.',
    body: REASON,
    answer: BULK_CHANGED,
    run: ({ operator, params: { id = '' }, by }) => operator.cancelBulk(id, by),
  }),
];

export const FAILURE_ROUTES: readonly Route[] = [...deadLetters, ...groups, ...bulkReads, ...bulkVerbs];
