import { z } from 'zod';
import { callOf } from './call-of.ts';
import type { Module } from './module.ts';
import { tell } from './tell.ts';

const Plan = z.object({ title: z.string().min(1), steps: z.array(z.string()).min(1) });
const Reply = z.object({ parts: z.array(z.object({ type: z.string(), text: z.string().optional() })) });

const PLANNING_POINTS = 80;

/** Has a plan thought up by the coding agent, and brought into form by a model. */
export const planModule: Module = async (payload, ctx, { hf, clients }) => {
  const { runId, userId, moduleId } = payload;
  const call = callOf(payload, ctx);
  const { data: session } = await clients.agent.createSession({ ...call, title: runId });
  const prompt = { sessionId: session.id, text: `Plan how ${userId} goes on.` };
  const { data, commandId: promptId } = await clients.agent.sendMessage({ ...call, ...prompt });
  const thoughts = Reply.parse(data)
    .parts.map(({ text = '' }) => text)
    .join('\n');
  const { reply: plan } = await clients.llm.chat({
    ...call,
    model: 'local',
    messages: [{ role: 'user', content: `As {"title": …, "steps": […]}: ${thoughts}` }],
    fields: { response_format: { type: 'json_object' } },
    schema: Plan,
  });
  return ctx.commit(async (tx) => {
    await tx.query('insert into growth.plan values ($1, $2, $3) on conflict (run_id) do nothing', [
      runId,
      plan.title,
      plan.steps,
    ]);
    await tell({ hf, tx, ctx }, 'plan-drafted', payload, {
      signal: { signalId: 'planning', points: PLANNING_POINTS },
      session: { serviceId: 'coding-agent', externalId: session.id, status: 'completed' },
      artifact: { serviceId: 'coding-agent', externalId: promptId, type: moduleId, title: plan.title },
    });
    return { sessionId: session.id, promptId, ...plan };
  });
};
