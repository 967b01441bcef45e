import { notFound } from '../refusal.ts';
import { eventReply, messageReply } from '../replies.ts';
import type { ApiAnswer, ApiCall, ApiRoute } from '../route.ts';
import {
  demandFilter,
  MOST_SELECTING_BYTES,
  readCancelLimit,
  readPage,
  readSelection,
  readStates,
  withBody,
} from '../selection-query.ts';

const MOST_EVENTS = 1_000;

/** Messages and the log. */
export const MESSAGE_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'messages/:id',
    scope: 'publish',
    run: async ({ deliveries, params: { id = '' } }) => {
      const message = await deliveries.messages.get(id);
      if (message === undefined) throw notFound(`message ${id}`);
      return { value: messageReply(message) };
    },
  },
  {
    method: 'DELETE',
    path: 'messages/:id',
    scope: 'operate',
    run: async ({ deliveries, params: { id = '' } }) => {
      const cancelled = await deliveries.messages.cancel({ messageIds: [id] });
      if (cancelled === 0) throw notFound(`message ${id}, waiting to be delivered,`);
      return { value: { cancelled } };
    },
  },
  { method: 'DELETE', path: 'messages', scope: 'operate', run: cancelMany },
  { method: 'GET', path: 'events', scope: 'operate', run: (call) => log(call, 'events') },
  { method: 'GET', path: 'logs', scope: 'operate', run: (call) => log(call, 'logs') },
];

async function cancelMany(call: ApiCall): Promise<ApiAnswer> {
  const query = withBody(call.query, await call.bytes(MOST_SELECTING_BYTES));
  if (query === undefined) return { value: { cancelled: 0 } };
  demandFilter(query);
  const limit = readCancelLimit(query);
  return { value: { cancelled: await call.deliveries.messages.cancel(readSelection(query), undefined, limit) } };
}

async function log({ deliveries, query }: ApiCall, name: 'events' | 'logs'): Promise<ApiAnswer> {
  const states = readStates(query);
  const selection = { ...readSelection(query), ...(states && { states }) };
  const { items, next } = await deliveries.log.list(selection, readPage(query, MOST_EVENTS));
  return { value: { [name]: items.map(eventReply), cursor: next } };
}
