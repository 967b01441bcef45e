import type { DeadSelection } from '../../delivery/dead-deliveries.ts';
import type { DeliverySelection } from '../../delivery/delivery-messages.ts';
import { get, post, type Route } from '../route.ts';
import { described, list, optional, type Schema, text, time, whole, words } from '../schema.ts';
import {
  type Changed,
  CHANGED,
  type Counted,
  COUNTED,
  DEAD_DELIVERY,
  DELIVERY_EVENT,
  DELIVERY_RECORD,
  DESTINATION,
  EVENT_STATE,
  FLOW_CONTROL,
  asChanged,
  asFound,
  foundOne,
  QUEUE,
  RECORD_STATE,
  SCHEDULE,
  URL_GROUP,
} from '../schemas/delivery-schemas.ts';
import { pageOf } from '../schemas/message-schemas.ts';
import { shownEvent } from '../shown-event.ts';
import { NEEDED_REASON, PAGING, REASON } from './shared-fields.ts';

const DEFAULT_LIMIT = 100;

/** Which messages, one value for each. */
const SELECTION: { readonly [K in keyof SelectionQuery]: Schema<SelectionQuery[K]> } = {
  messageId: optional(text),
  url: optional(text),
  host: optional(text),
  path: optional(text),
  group: described(optional(text), 'The URL group it was published to.'),
  scheduleId: optional(text),
  queue: optional(text),
  label: optional(text),
  flowKey: described(optional(text), 'A flow-control key; `endpoint:<id>` for what goes to an endpoint.'),
  callerIp: optional(text),
  tenant: described(optional(text), 'Whose: `default` for what has none.'),
  from: optional(time),
  to: optional(time),
};

interface SelectionQuery {
  readonly messageId: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly path: string | undefined;
  readonly group: string | undefined;
  readonly scheduleId: string | undefined;
  readonly queue: string | undefined;
  readonly label: string | undefined;
  readonly flowKey: string | undefined;
  readonly callerIp: string | undefined;
  readonly tenant: string | undefined;
  readonly from: Date | undefined;
  readonly to: Date | undefined;
}

function selectionOf(query: Partial<SelectionQuery>): DeliverySelection {
  const { messageId, label, url, host, path, group, scheduleId, queue, flowKey, callerIp, tenant, from, to } = query;
  return {
    messageIds: messageId === undefined ? undefined : [messageId],
    labels: label === undefined ? undefined : [label],
    url,
    host,
    path,
    group,
    scheduleId,
    queue,
    flowKey,
    callerIp,
    tenant,
    from,
    to,
  };
}

function pagingOf({
  limit = DEFAULT_LIMIT,
  cursor,
}: {
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
}): { readonly limit: number; readonly cursor: string | undefined } {
  return { limit, cursor };
}

const messages: readonly Route[] = [
  get({
    id: 'listDeliveries',
    path: 'api/delivery/messages',
    summary: 'HTTP deliveries, the newest first.',
    query: { ...SELECTION, state: optional(RECORD_STATE), ...PAGING },
    answer: pageOf(DELIVERY_RECORD),
    run: ({ deliveries, query }) =>
      deliveries.messages.list({ ...selectionOf(query), state: query.state }, pagingOf(query)),
  }),
  get({
    id: 'showDelivery',
    path: 'api/delivery/messages/:id',
    summary: 'One HTTP delivery.',
    answer: foundOne(DELIVERY_RECORD),
    run: async ({ deliveries, params: { id = '' } }) => asFound(await deliveries.messages.get(id)),
  }),
  post({
    id: 'cancelDelivery',
    path: 'api/delivery/messages/:id/cancel',
    summary: 'It is not tried again. What is on its way now may still arrive.',
    body: REASON,
    answer: COUNTED,
    run: async ({ deliveries, params: { id = '' }, by }) =>
      counted(await deliveries.messages.cancel({ messageIds: [id] }, by)),
  }),
  get({
    id: 'listDeliveryLog',
    path: 'api/delivery/log',
    summary: 'What happened to HTTP deliveries, the newest first.',
    query: { ...SELECTION, state: optional(EVENT_STATE), ...PAGING },
    answer: pageOf(DELIVERY_EVENT),
    run: async ({ deliveries, query }) => {
      const states = query.state === undefined ? undefined : [query.state];
      const page = await deliveries.log.list({ ...selectionOf(query), states }, pagingOf(query));
      return { ...page, items: page.items.map(shownEvent) };
    },
  }),
];

const DLQ_IDS = described(list(text), 'Of the list of dead deliveries.');

const dead: readonly Route[] = [
  get({
    id: 'listDeadDeliveries',
    path: 'api/delivery/dead',
    summary: 'HTTP deliveries that have failed for good, the latest first, with the last answer.',
    query: { ...SELECTION, status: optional(whole(100, 599)), ...PAGING },
    answer: pageOf(DEAD_DELIVERY),
    run: ({ deliveries, query }) => {
      const selection: DeadSelection = { ...selectionOf(query), responseStatus: query.status };
      return deliveries.dead.list(selection, pagingOf(query));
    },
  }),
  get({
    id: 'showDeadDelivery',
    path: 'api/delivery/dead/:id',
    summary: 'One of them.',
    answer: foundOne(DEAD_DELIVERY),
    run: async ({ deliveries, params: { id = '' } }) => asFound(await deliveries.dead.get(id)),
  }),
  post({
    id: 'replayDeadDeliveries',
    path: 'api/delivery/dead/replay',
    summary: 'Puts them back in line, under their ids.',
    body: { dlqIds: DLQ_IDS, ...REASON },
    answer: COUNTED,
    run: async ({ deliveries, body: { dlqIds }, by }) => {
      const page = { limit: Math.max(1, dlqIds.length) };
      const { messageIds } = await deliveries.dead.replay({ dlqIds }, page, undefined, by);
      return counted(messageIds.length);
    },
  }),
  post({
    id: 'discardDeadDeliveries',
    path: 'api/delivery/dead/discard',
    summary: 'Gives them up.',
    body: { dlqIds: DLQ_IDS, ...NEEDED_REASON },
    answer: COUNTED,
    run: async ({ deliveries, body: { dlqIds }, by }) => {
      const { count } = await deliveries.dead.discard({ dlqIds }, { limit: Math.max(1, dlqIds.length) }, by);
      return counted(count);
    },
  }),
];

const NAME = { name: words(300) } as const;
const KEY = { key: words(300) } as const;

function queueSwitch(id: string, verb: 'pause' | 'resume', summary: string): Route {
  return post({
    id,
    path: `api/delivery/queues/${verb}`,
    summary,
    body: { ...NAME, ...REASON },
    answer: CHANGED,
    run: ({ deliveries, body: { name }, by }) =>
      changeIf(deliveries.queues.get(name), () => deliveries.queues.upsert(name, { isPaused: verb === 'pause' }, by)),
  });
}

function flowChange(id: string, verb: 'pause' | 'resume' | 'resetRate', path: string, summary: string): Route {
  return post({
    id,
    path: `api/delivery/flow-controls/${path}`,
    summary,
    body: { ...KEY, ...REASON },
    answer: CHANGED,
    run: ({ deliveries, body: { key }, by }) =>
      changeIf(deliveries.flowControls.get(key), () => deliveries.flowControls[verb](key, by)),
  });
}

const lines: readonly Route[] = [
  get({
    id: 'listQueues',
    path: 'api/delivery/queues',
    summary: 'Queues of deliveries, and how many wait in each.',
    answer: list(QUEUE),
    run: ({ deliveries }) => deliveries.queues.list(),
  }),
  queueSwitch('pauseQueue', 'pause', 'Nothing of it is delivered; it goes on taking in.'),
  queueSwitch('resumeQueue', 'resume', 'It goes on.'),
  post({
    id: 'setQueueParallelism',
    path: 'api/delivery/queues/parallelism',
    role: 'admin',
    summary: 'At most so many of it at once.',
    body: { ...NAME, parallelism: whole(1, 1_000), ...REASON },
    answer: CHANGED,
    run: ({ deliveries, body: { name, parallelism }, by }) =>
      changeIf(deliveries.queues.get(name), () => deliveries.queues.upsert(name, { parallelism }, by)),
  }),
  get({
    id: 'listUrlGroups',
    path: 'api/delivery/url-groups',
    summary: 'Addresses under one name.',
    answer: list(URL_GROUP),
    run: ({ deliveries }) => deliveries.urlGroups.list(),
  }),
  get({
    id: 'listFlowControls',
    path: 'api/delivery/flow-controls',
    summary: 'Flow-control keys: their limits, and what is going on.',
    query: { search: described(optional(text), 'Part of the key.') },
    answer: list(FLOW_CONTROL),
    run: ({ deliveries, query: { search } }) => deliveries.flowControls.list(search),
  }),
  flowChange('pauseFlowControl', 'pause', 'pause', 'Nothing under the key is delivered; it goes on taking in.'),
  flowChange('resumeFlowControl', 'resume', 'resume', 'It goes on.'),
  flowChange('resetFlowControl', 'resetRate', 'reset', 'The period of its rate begins anew.'),
  post({
    id: 'pinFlowControl',
    path: 'api/delivery/flow-controls/pin',
    role: 'admin',
    summary: 'Sets limits that messages do not change any more.',
    body: {
      ...KEY,
      parallelism: optional(whole(1, 100_000)),
      rate: optional(whole(1, 1_000_000)),
      periodMs: optional(whole(1, 604_800_000)),
      ...REASON,
    },
    answer: CHANGED,
    run: async ({ deliveries, body: { key, parallelism, rate, periodMs }, by }) => {
      await deliveries.flowControls.pin(key, { parallelism, rate, periodMs }, by);
      return DONE;
    },
  }),
  post({
    id: 'unpinFlowControl',
    path: 'api/delivery/flow-controls/unpin',
    role: 'admin',
    summary: 'Messages set its limits again.',
    body: { ...KEY, ...REASON },
    answer: CHANGED,
    run: ({ deliveries, body: { key }, by }) =>
      changeIf(deliveries.flowControls.get(key), () =>
        deliveries.flowControls.unpin(key, { parallelism: true, rate: true }, by),
      ),
  }),
];

function scheduleChange(verb: 'pause' | 'resume' | 'delete', summary: string): Route {
  return post({
    id: `${verb}Schedule`,
    path: `api/delivery/schedules/:id/${verb}`,
    ...(verb === 'delete' && { role: 'admin' as const }),
    summary,
    body: REASON,
    answer: CHANGED,
    run: ({ deliveries, params: { id = '' }, by }) =>
      changeIf(deliveries.schedules.get(id), () => deliveries.schedules[verb](id, by)),
  });
}

const schedules: readonly Route[] = [
  get({
    id: 'listSchedules',
    path: 'api/delivery/schedules',
    summary: 'What is published again and again.',
    answer: list(SCHEDULE),
    run: ({ deliveries }) => deliveries.schedules.list(),
  }),
  get({
    id: 'showSchedule',
    path: 'api/delivery/schedules/:id',
    summary: 'One of them.',
    answer: foundOne(SCHEDULE),
    run: async ({ deliveries, params: { id = '' } }) => asFound(await deliveries.schedules.get(id)),
  }),
  scheduleChange('pause', 'Times that pass while it is paused are left out.'),
  scheduleChange('resume', 'It goes on with the next time.'),
  scheduleChange('delete', 'It is not published any more.'),
];

const PLACE = { destination: described(words(2_000), 'Scheme, host and port: https://api.example.com.') } as const;

const destinations: readonly Route[] = [
  get({
    id: 'listDestinations',
    path: 'api/delivery/destinations',
    summary: 'Destinations and their breakers, those that are not closed first.',
    answer: list(DESTINATION),
    run: ({ deliveries }) => deliveries.destinations.list(),
  }),
  post({
    id: 'openDestination',
    path: 'api/delivery/destinations/open',
    summary: 'Nothing is sent there until it is closed by hand.',
    body: { ...PLACE, ...REASON },
    answer: CHANGED,
    run: async ({ deliveries, body: { destination }, by }) => {
      await deliveries.destinations.open(destination, by);
      return DONE;
    },
  }),
  post({
    id: 'closeDestination',
    path: 'api/delivery/destinations/close',
    summary: 'Closes its breaker, whatever opened it.',
    body: { ...PLACE, ...REASON },
    answer: CHANGED,
    run: async ({ deliveries, body: { destination }, by }) =>
      asChanged(await deliveries.destinations.close(destination, by)),
  }),
];

const DONE: Changed = { kind: 'done' };
const NOT_FOUND: Changed = { kind: 'not-found' };

function counted(count: number): Counted {
  return count === 0 ? { kind: 'not-found' } : { kind: 'done', count };
}

async function changeIf(found: Promise<unknown>, change: () => Promise<unknown>): Promise<Changed> {
  if ((await found) === undefined) return NOT_FOUND;
  await change();
  return DONE;
}

/** What a server that delivers shows and changes of deliveries. */
export const DELIVERY_ROUTES: readonly Route[] = [...messages, ...dead, ...lines, ...schedules, ...destinations];
