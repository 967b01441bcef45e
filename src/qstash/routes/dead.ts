import { replayRules } from '../message-settings.ts';
import { notFound } from '../refusal.ts';
import { deadReply } from '../replies.ts';
import type { ApiAnswer, ApiCall, ApiRoute } from '../route.ts';
import { demandFilter, MOST_SELECTING_BYTES, readDeadSelection, readPage, withBody } from '../selection-query.ts';

const MOST_AT_ONCE = 1_000;

/** Messages that failed for good. */
export const DEAD_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'dlq',
    scope: 'operate',
    run: async ({ deliveries, query }) => {
      const { items, next } = await deliveries.dead.list(readDeadSelection(query), readPage(query, MOST_AT_ONCE));
      return { value: { messages: items.map(deadReply), cursor: next } };
    },
  },
  {
    method: 'GET',
    path: 'dlq/:id',
    scope: 'operate',
    run: async ({ deliveries, params: { id = '' } }) => {
      const dead = await deliveries.dead.get(id);
      if (dead === undefined) throw notFound(`dlq message ${id}`);
      return { value: deadReply(dead) };
    },
  },
  {
    method: 'DELETE',
    path: 'dlq/:id',
    scope: 'operate',
    run: async ({ deliveries, params: { id = '' } }) => {
      const { count } = await deliveries.dead.discard({ dlqIds: [id] }, { limit: 1 });
      if (count === 0) throw notFound(`dlq message ${id}`);
      return { value: { deleted: count } };
    },
  },
  {
    method: 'DELETE',
    path: 'dlq',
    scope: 'operate',
    run: async (call) => {
      const query = withBody(call.query, await call.bytes(MOST_SELECTING_BYTES));
      if (query === undefined) return { value: { deleted: 0 } };
      demandFilter(query);
      const page = deadPage(query);
      const { count, next } = await call.deliveries.dead.discard(readDeadSelection(query), page);
      return { value: { deleted: count, cursor: next } };
    },
  },
  { method: 'POST', path: 'dlq/retry', scope: 'operate', takes: 'replay-settings', run: replayMany },
  { method: 'POST', path: 'dlq/retry/:id', scope: 'operate', takes: 'replay-settings', run: replayOne },
];

async function replayMany(call: ApiCall): Promise<ApiAnswer> {
  const query = withBody(call.query, await call.bytes(MOST_SELECTING_BYTES));
  if (query === undefined) return { status: 201, value: { responses: [] } };
  demandFilter(query);
  const rules = replayRules(call.headers);
  const { messageIds, next } = await call.deliveries.dead.replay(readDeadSelection(query), deadPage(query), rules);
  return { status: 201, value: { responses: messageIds.map((messageId) => ({ messageId })), cursor: next } };
}

/** Where no count is given, all ids that are named are meant. */
function deadPage(query: URLSearchParams): ReturnType<typeof readPage> {
  const page = readPage(query, MOST_AT_ONCE);
  return query.has('count') || !(query.has('dlqIds') || query.has('dlqId')) ? page : { ...page, limit: MOST_AT_ONCE };
}

async function replayOne({ deliveries, params: { id = '' }, headers }: ApiCall): Promise<ApiAnswer> {
  const { messageIds } = await deliveries.dead.replay({ dlqIds: [id] }, { limit: 1 }, replayRules(headers));
  const [messageId] = messageIds;
  if (messageId === undefined) throw notFound(`dlq message ${id}`);
  return { status: 201, value: { messageId } };
}
