import { rawDestination, readDestination } from '../destination.ts';
import { keptBody } from '../message-body.ts';
import { readSettings } from '../message-settings.ts';
import { badRequest, notFound } from '../refusal.ts';
import { scheduleReply } from '../replies.ts';
import { type ApiAnswer, type ApiCall, type ApiRoute, DONE } from '../route.ts';

/** Schedules. */
export const SCHEDULE_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'schedules',
    scope: 'operate',
    run: async ({ deliveries }) => ({ value: (await deliveries.schedules.list()).map(scheduleReply) }),
  },
  // Clients write PATCH, the documentation POST.
  ...(['PATCH', 'POST'] as const).flatMap((method) => [
    verb(method, 'pause', ({ deliveries, params: { id = '' } }) => deliveries.schedules.pause(id)),
    verb(method, 'resume', ({ deliveries, params: { id = '' } }) => deliveries.schedules.resume(id)),
  ]),
  { method: 'POST', path: 'schedules/*', scope: 'operate', takes: 'message', run: create },
  {
    method: 'GET',
    path: 'schedules/:id',
    scope: 'operate',
    run: async ({ deliveries, params: { id = '' } }) => {
      const schedule = await deliveries.schedules.get(id);
      if (schedule === undefined) throw notFound(`schedule ${id}`);
      return { value: scheduleReply(schedule) };
    },
  },
  {
    method: 'DELETE',
    path: 'schedules/:id',
    scope: 'operate',
    run: async ({ deliveries, params: { id = '' } }) => {
      if (!(await deliveries.schedules.delete(id))) throw notFound(`schedule ${id}`);
      return DONE;
    },
  },
];

function verb(method: 'PATCH' | 'POST', name: 'pause' | 'resume', act: (call: ApiCall) => Promise<boolean>): ApiRoute {
  const run = async (call: ApiCall): Promise<ApiAnswer> => {
    if (!(await act(call))) throw notFound(`schedule ${call.params['id']}`);
    return DONE;
  };
  return { method, path: `schedules/:id/${name}`, scope: 'operate', run };
}

async function create(call: ApiCall): Promise<ApiAnswer> {
  const { text, settings } = rawDestination(call.rest, call.rawQuery, call.isTokenInQuery);
  const { delivery, delayMs, flow, cron, deduplication } = readSettings(new Map([...settings, ...call.headers]), {
    nowMs: call.nowMs,
    maxDelayMs: call.limits.maxDelayMs,
  });
  if (cron === undefined) throw badRequest('Upstash-Cron is missing; write five fields such as */5 * * * *');
  if (deduplication !== undefined) throw badRequest('a schedule publishes every time; leave the deduplication out');
  if (delivery.queue !== undefined && delivery.flowKey !== undefined) {
    throw badRequest('a message stands in a queue or under a flow-control key, not both; leave one of them out');
  }
  const { scheduleId, ...rest } = delivery;
  const outcome = await call.deliveries.schedules.put({
    cron,
    to: readDestination(text),
    delivery: {
      ...rest,
      ...keptBody(await call.bytes(call.limits.maxBodyBytes)),
      ...(call.callerIp !== undefined && { callerIp: call.callerIp }),
    },
    ...(scheduleId !== undefined && { scheduleId }),
    ...(flow && { flow }),
    ...(delayMs !== undefined && { delayMs }),
  });
  if (outcome.kind === 'refused') throw badRequest(outcome.message);
  return { status: 201, value: { scheduleId: outcome.scheduleId } };
}
