import { get, post, type Route } from '../route.ts';
import { described, flag, list, optional, text, whole, words } from '../schema.ts';
import { pageOf } from '../schemas/message-schemas.ts';
import {
  KEY_DISCARDED,
  KEY_REPLAYED,
  LIMITED,
  PAUSED,
  RELEASED,
  RESUMED,
  RETIRED,
  SKIPPED,
} from '../schemas/outcome-schemas.ts';
import { HANDLER, HELD_KEY, STATS } from '../schemas/system-schemas.ts';
import { BREAKER, BREAKER_CHANGED } from '../schemas/work-schemas.ts';
import { GENERATION, NEEDED_REASON, PAGING, REASON } from './shared-fields.ts';

const HANDLER_NAME = { handler: described(words(2_000), 'Its name, or `service/name`.') } as const;
const KEY = { ...HANDLER_NAME, key: text } as const;
const BREAKER_NAME = { name: described(words(2_000), 'Its name, or `service/name`.') } as const;

const keys: readonly Route[] = [
  get({
    id: 'listKeys',
    path: 'api/keys',
    summary: 'Keys whose later messages wait behind one that retries or has failed.',
    query: { service: optional(text), handler: optional(text), ...PAGING },
    answer: pageOf(HELD_KEY),
    run: ({ operator, query }) => operator.heldKeys(query),
  }),
  post({
    id: 'replayKey',
    path: 'api/keys/replay',
    summary: 'Replays all that failed or were parked of a key, in their order.',
    body: { ...KEY, ...GENERATION, ...REASON },
    answer: KEY_REPLAYED,
    run: ({ operator, body: { handler, key, generation }, by }) => operator.replayKey(handler, key, by, { generation }),
  }),
  post({
    id: 'discardKey',
    path: 'api/keys/discard',
    summary: 'Gives up all that failed or were parked of a key.',
    body: { ...KEY, ...NEEDED_REASON },
    answer: KEY_DISCARDED,
    run: ({ operator, body: { handler, key, reason }, by }) => operator.discardKey(handler, key, { ...by, reason }),
  }),
  post({
    id: 'releaseKey',
    path: 'api/keys/release',
    summary: 'Lets a key go on past what failed, which stays a dead letter.',
    body: { ...KEY, ...REASON },
    answer: RELEASED,
    run: ({ operator, body: { handler, key }, by }) => operator.releaseKey(handler, key, by),
  }),
  post({
    id: 'skipKey',
    path: 'api/keys/skip',
    summary: 'Gives up the first of a key that failed; what waits behind it goes on.',
    body: { ...KEY, ...NEEDED_REASON },
    answer: SKIPPED,
    run: ({ operator, body: { handler, key, reason }, by }) => operator.skipKey(handler, key, { ...by, reason }),
  }),
];

const handlers: readonly Route[] = [
  get({
    id: 'listHandlers',
    path: 'api/handlers',
    summary: 'All handlers that ever registered, retired ones too.',
    answer: list(HANDLER),
    run: ({ operator }) => operator.handlers(),
  }),
  get({
    id: 'stats',
    path: 'api/stats',
    summary: 'How much there is to do, by handler.',
    query: {
      countDelivered: described(optional(flag), 'Count the history too, which reads all of it. Default false.'),
    },
    answer: STATS,
    run: ({ operator, query }) => operator.stats(query),
  }),
  post({
    id: 'pauseHandler',
    path: 'api/handlers/pause',
    summary: 'Its messages wait; what runs goes on.',
    body: { ...HANDLER_NAME, ...REASON },
    answer: PAUSED,
    run: ({ operator, body: { handler }, by }) => operator.pause(handler, by),
  }),
  post({
    id: 'resumeHandler',
    path: 'api/handlers/resume',
    summary: 'Its messages go on.',
    body: { ...HANDLER_NAME, ...REASON },
    answer: RESUMED,
    run: ({ operator, body: { handler }, by }) => operator.resume(handler, by),
  }),
  post({
    id: 'retireHandler',
    path: 'api/handlers/retire',
    role: 'admin',
    summary: 'Ends a handler whose code is gone.',
    body: { ...HANDLER_NAME, discardOpen: optional(flag), ...REASON },
    answer: RETIRED,
    run: ({ operator, body: { handler, discardOpen }, by }) => operator.retire(handler, by, { discardOpen }),
  }),
  post({
    id: 'limitHandler',
    path: 'api/handlers/limit',
    role: 'admin',
    summary: 'At most so many runs at once in each process; without `limit`: as its code says.',
    body: { ...HANDLER_NAME, limit: optional(whole(1, 1_000_000)), ...REASON },
    answer: LIMITED,
    run: ({ operator, body: { handler, limit }, by }) => operator.limit(handler, limit, by),
  }),
  post({
    id: 'pauseAll',
    path: 'api/pause-all',
    role: 'admin',
    summary: 'Nothing is started anywhere; sending goes on.',
    body: REASON,
    answer: PAUSED,
    run: ({ operator, by }) => operator.pauseAll(by),
  }),
  post({
    id: 'resumeAll',
    path: 'api/resume-all',
    role: 'admin',
    summary: 'Ends the pause of everything.',
    body: REASON,
    answer: RESUMED,
    run: ({ operator, by }) => operator.resumeAll(by),
  }),
];

const breakers: readonly Route[] = [
  get({
    id: 'listBreakers',
    path: 'api/breakers',
    summary: 'Breakers, those that are not closed first.',
    query: PAGING,
    answer: pageOf(BREAKER),
    run: ({ operator, query }) => operator.breakers(query),
  }),
  post({
    id: 'openBreaker',
    path: 'api/breakers/open',
    summary: 'Holds it open: nothing is tried, no attempt is spent.',
    body: { ...BREAKER_NAME, ...REASON },
    answer: BREAKER_CHANGED,
    run: ({ operator, body: { name }, by }) => operator.openBreaker(name, by),
  }),
  post({
    id: 'closeBreaker',
    path: 'api/breakers/close',
    summary: 'Closes it, whatever opened it.',
    body: { ...BREAKER_NAME, ...REASON },
    answer: BREAKER_CHANGED,
    run: ({ operator, body: { name }, by }) => operator.closeBreaker(name, by),
  }),
];

export const HANDLER_ROUTES: readonly Route[] = [...keys, ...handlers, ...breakers];
