import { get, post, type Route } from '../route.ts';
import { anything, described, flag, integer, list, optional, text, time } from '../schema.ts';
import { MESSAGE_PAGE, TAB, TAB_COUNT } from '../schemas/message-schemas.ts';
import {
  CANCELLED,
  DISCARDED,
  EDITED,
  FORECAST_OUTCOME,
  FOUND_DETAIL,
  FOUND_SUMMARY,
  REPLAYED,
  WHY,
} from '../schemas/outcome-schemas.ts';
import { GENERATION, NEEDED_REASON, PAGING, REASON } from './shared-fields.ts';

const HANDLERS = described(optional(list(text)), 'Only these: names, or `service/name`.');

/** Looking at messages. */
const reads: readonly Route[] = [
  get({
    id: 'listMessages',
    path: 'api/messages',
    summary: 'Messages, the newest first.',
    query: {
      status: optional(TAB),
      type: described(optional(text), 'A type, or its beginning with `*`.'),
      key: optional(text),
      service: optional(text),
      handler: optional(text),
      error: described(optional(text), 'Part of the last error.'),
      since: optional(time),
      until: optional(time),
      ...PAGING,
    },
    takesPayload: true,
    answer: MESSAGE_PAGE,
    run: ({ operator, query, payload }) => operator.messages({ ...query, payload }),
  }),
  get({
    id: 'countMessages',
    path: 'api/messages/tabs',
    summary: 'How many messages each tab has.',
    answer: list(TAB_COUNT),
    run: ({ operator }) => operator.messageTabs(),
  }),
  get({
    id: 'showMessage',
    path: 'api/messages/:id',
    summary: 'All that is known of a message.',
    answer: FOUND_DETAIL,
    run: ({ operator, params: { id = '' } }) => operator.show(id),
  }),
  get({
    id: 'findMessage',
    path: 'api/messages/:id/summary',
    summary: 'A message in one line.',
    answer: FOUND_SUMMARY,
    run: ({ operator, params: { id = '' } }) => operator.find(id),
  }),
  get({
    id: 'explainMessage',
    path: 'api/messages/:id/why',
    summary: 'Why each delivery is not done, with the next step.',
    answer: WHY,
    run: ({ operator, params: { id = '' } }) => operator.why(id),
  }),
  get({
    id: 'forecastMessage',
    path: 'api/messages/:id/forecast',
    summary: 'What is left of the retry plan of each open delivery.',
    answer: FORECAST_OUTCOME,
    run: ({ operator, params: { id = '' }, policyOf }) => operator.forecast(id, policyOf),
  }),
];

/** Changing one. */
const verbs: readonly Route[] = [
  post({
    id: 'replayMessage',
    path: 'api/messages/:id/replay',
    summary: 'Replays what failed of a message. To run again what succeeded (`rerun`) is for admins.',
    roleFor: ({ rerun }) => (rerun === true ? 'admin' : 'operator'),
    body: {
      handlers: HANDLERS,
      rerun: optional(flag),
      skip: described(optional(flag), 'With `rerun`: leave out what is not repeatable instead of refusing all.'),
      ...GENERATION,
      ...REASON,
    },
    answer: REPLAYED,
    run: ({ operator, params: { id = '' }, body: { handlers, rerun, skip, generation }, by }) =>
      operator.replay(id, by, { handlers, rerun, skip, generation }),
  }),
  post({
    id: 'discardMessage',
    path: 'api/messages/:id/discard',
    summary: 'Gives up what failed of a message; with `open`, also what has not.',
    body: { handlers: HANDLERS, open: optional(flag), ...NEEDED_REASON },
    answer: DISCARDED,
    run: ({ operator, params: { id = '' }, body: { handlers, open, reason }, by }) =>
      operator.discard(id, { ...by, reason }, { handlers, open }),
  }),
  post({
    id: 'editMessage',
    path: 'api/messages/:id/edit',
    role: 'admin',
    summary: 'Changes the payload of a failed message and replays what failed.',
    body: {
      payload: anything,
      version: described(optional(integer), 'Only if it is still at this version.'),
      ...GENERATION,
      ...REASON,
    },
    answer: EDITED,
    refusals: ['changed'],
    run: ({ operator, params: { id = '' }, body: { payload, version, generation }, by }) =>
      operator.edit(id, payload, by, { version, generation }),
  }),
  post({
    id: 'cancelMessage',
    path: 'api/messages/:id/cancel',
    summary: 'Takes back a scheduled message whose time has not come.',
    body: REASON,
    answer: CANCELLED,
    run: ({ operator, params: { id = '' }, by }) => operator.cancel(id, by),
  }),
];

export const MESSAGE_ROUTES: readonly Route[] = [...reads, ...verbs];
