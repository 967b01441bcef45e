import type { FlowRules } from '../../delivery/delivery-request.ts';
import { badRequest, notFound } from '../refusal.ts';
import { flowReply } from '../replies.ts';
import { type ApiAnswer, type ApiCall, type ApiRoute, DONE } from '../route.ts';
import { readFlag, readFlow } from '../setting-values.ts';

/** Flow control. Keys may have slashes: clients do not encode them. */
export const FLOW_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'flowControl',
    scope: 'operate',
    run: async ({ deliveries, query }) => {
      const list = await deliveries.flowControls.list(query.get('search') ?? undefined);
      return { value: list.map(flowReply) };
    },
  },
  {
    method: 'GET',
    path: 'globalParallelism',
    scope: 'operate',
    run: async ({ activity }) => {
      const { most, now } = activity();
      return { value: { parallelismMax: most, parallelismCount: now } };
    },
  },
  verb('pause', ({ deliveries, params: { key = '' } }) => deliveries.flowControls.pause(key)),
  verb('resume', ({ deliveries, params: { key = '' } }) => deliveries.flowControls.resume(key)),
  verb('resetRate', ({ deliveries, params: { key = '' } }) => deliveries.flowControls.resetRate(key)),
  verb('reset', ({ deliveries, params: { key = '' } }) => deliveries.flowControls.resetRate(key)),
  verb('pin', (call) => call.deliveries.flowControls.pin(call.params['key'] ?? '', pinned(call))),
  verb('unpin', ({ deliveries, params: { key = '' }, query }) => {
    const which = { parallelism: readFlag(flagOf(query, 'parallelism')), rate: readFlag(flagOf(query, 'rate')) };
    if (!which.parallelism && !which.rate) throw badRequest('name what to unpin: parallelism=true, rate=true, or both');
    return deliveries.flowControls.unpin(key, which);
  }),
  {
    method: 'GET',
    path: 'flowControl/+key',
    scope: 'operate',
    run: async ({ deliveries, params: { key = '' } }) => {
      const flow = await deliveries.flowControls.get(key);
      if (flow === undefined) throw notFound(`flow-control key ${key}`);
      return { value: flowReply(flow) };
    },
  },
];

function verb(name: string, act: (call: ApiCall) => Promise<void>): ApiRoute {
  const run = async (call: ApiCall): Promise<ApiAnswer> => {
    await act(call);
    return DONE;
  };
  return { method: 'POST', path: `flowControl/+key/${name}`, scope: 'operate', run };
}

function pinned({ query }: ApiCall): FlowRules {
  const parts = ['parallelism', 'rate', 'period'].flatMap((name) => {
    const value = query.get(name);
    return value === null || value === '' ? [] : [`${name}=${value}`];
  });
  const rules = readFlow('pin', parts.join(','));
  if (rules.parallelism === undefined && rules.rate === undefined) throw badRequest('name parallelism, rate, or both');
  return rules;
}

function flagOf(query: URLSearchParams, name: string): string | undefined {
  return query.get(name) ?? undefined;
}
