import { callOf } from './call-of.ts';
import type { Module } from './module.ts';
import { tell } from './tell.ts';

/** Has an interview held by the product service. */
export const interviewModule: Module = async (payload, ctx, { hf, clients }) => {
  const { runId, userId } = payload;
  const { data } = await clients.interview.call('hold-session', { ...callOf(payload, ctx), json: { runId, userId } });
  const { sessionId, status, score } = data;
  return ctx.commit(async (tx) => {
    await tell({ hf, tx, ctx }, 'interview-completed', payload, {
      signal: { signalId: 'speaking', points: score },
      session: { serviceId: 'interview', externalId: sessionId, status },
    });
    return { sessionId, score };
  });
};
