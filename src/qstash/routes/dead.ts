import { replayRules } from '../message-settings.ts';
import { notFound } from '../refusal.ts';
import { deadReply } from '../replies.ts';
import type { ApiAnswer, ApiCall, ApiRoute } from '../route.ts';
import { demandFilter, readDeadSelection, readPage } from '../selection-query.ts';

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
    run: async ({ deliveries, query }) => {
      demandFilter(query);
      const { count, next } = await deliveries.dead.discard(readDeadSelection(query), readPage(query, MOST_AT_ONCE));
      return { value: { deleted: count, cursor: next } };
    },
  },
  { method: 'POST', path: 'dlq/retry', scope: 'operate', takes: 'replay-settings', run: replayMany },
  { method: 'POST', path: 'dlq/retry/:id', scope: 'operate', takes: 'replay-settings', run: replayOne },
];

async function replayMany({ deliveries, query, headers }: ApiCall): Promise<ApiAnswer> {
  demandFilter(query);
  const page = readPage(query, MOST_AT_ONCE);
  const { messageIds, next } = await deliveries.dead.replay(readDeadSelection(query), page, replayRules(headers));
  return { status: 201, value: { responses: messageIds.map((messageId) => ({ messageId })), cursor: next } };
}

async function replayOne({ deliveries, params: { id = '' }, headers }: ApiCall): Promise<ApiAnswer> {
  const { messageIds } = await deliveries.dead.replay({ dlqIds: [id] }, { limit: 1 }, replayRules(headers));
  const [messageId] = messageIds;
  if (messageId === undefined) throw notFound(`dlq message ${id}`);
  return { status: 201, value: { messageId } };
}
