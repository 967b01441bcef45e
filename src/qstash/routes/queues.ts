import { readAddress } from '../destination.ts';
import { goodName } from '../message-settings.ts';
import { badRequest, GUIDE, notFound, Refusal } from '../refusal.ts';
import { groupReply, queueReply } from '../replies.ts';
import { type ApiAnswer, type ApiCall, type ApiRoute, DONE } from '../route.ts';
import { readJson } from '../read-json.ts';

const SMALL_BODY = 200_000;
const MOST_ENDPOINTS = 100;

/** Queues and URL groups. */
export const QUEUE_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'queues',
    scope: 'operate',
    run: async ({ deliveries }) => ({ value: (await deliveries.queues.list()).map(queueReply) }),
  },
  { method: 'POST', path: 'queues', scope: 'operate', run: upsertQueue },
  {
    method: 'GET',
    path: 'queues/:name',
    scope: 'operate',
    run: async ({ deliveries, params: { name = '' } }) => {
      const queue = await deliveries.queues.get(name);
      if (queue === undefined) throw notFound(`queue ${name}`);
      return { value: queueReply(queue) };
    },
  },
  {
    method: 'DELETE',
    path: 'queues/:name',
    scope: 'operate',
    run: async ({ deliveries, params: { name = '' } }) => {
      if (!(await deliveries.queues.delete(name))) throw notFound(`queue ${name}`);
      return DONE;
    },
  },
  { method: 'POST', path: 'queues/:name/pause', scope: 'operate', run: (call) => setPaused(call, true) },
  { method: 'POST', path: 'queues/:name/resume', scope: 'operate', run: (call) => setPaused(call, false) },
];

/** URL groups; `topics` is their old name. */
export const GROUP_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'topics',
    scope: 'operate',
    run: async ({ deliveries }) => ({ value: (await deliveries.urlGroups.list()).map(groupReply) }),
  },
  {
    method: 'GET',
    path: 'topics/:name',
    scope: 'operate',
    run: async ({ deliveries, params: { name = '' } }) => {
      const group = await deliveries.urlGroups.get(name);
      if (group === undefined) throw notFound(`URL group ${name}`);
      return { value: groupReply(group) };
    },
  },
  {
    method: 'DELETE',
    path: 'topics/:name',
    scope: 'operate',
    run: async ({ deliveries, params: { name = '' } }) => {
      if (!(await deliveries.urlGroups.delete(name))) throw notFound(`URL group ${name}`);
      return DONE;
    },
  },
  {
    method: 'PATCH',
    path: 'topics/:name',
    scope: 'operate',
    run: async () => {
      throw badRequest(`default headers of a URL group are not supported here; see ${GUIDE}`);
    },
  },
  { method: 'POST', path: 'topics/:name/endpoints', scope: 'operate', run: addEndpoints },
  { method: 'DELETE', path: 'topics/:name/endpoints', scope: 'operate', run: removeEndpoints },
];

async function setPaused({ deliveries, params: { name = '' } }: ApiCall, isPaused: boolean): Promise<ApiAnswer> {
  await deliveries.queues.upsert(goodName('the queue', name), { isPaused });
  return DONE;
}

async function upsertQueue(call: ApiCall): Promise<ApiAnswer> {
  const { queueName, parallelism, paused } = fieldsOf(readJson(await call.bytes(SMALL_BODY)));
  if (typeof queueName !== 'string') throw badRequest('queueName is missing; write its name');
  if (parallelism !== undefined && (!Number.isSafeInteger(parallelism) || Number(parallelism) < 1)) {
    throw badRequest('parallelism is no whole number from 1');
  }
  const { maxParallelism } = call.limits;
  if (Number(parallelism ?? 1) > maxParallelism) {
    throw new Refusal(412, `parallelism is ${Number(parallelism)}, and ${maxParallelism} is the most there is here`);
  }
  if (paused !== undefined && typeof paused !== 'boolean') throw badRequest('paused is neither true nor false');
  await call.deliveries.queues.upsert(goodName('queueName', queueName), {
    ...(parallelism !== undefined && { parallelism: Number(parallelism) }),
    ...(paused !== undefined && { isPaused: paused }),
  });
  return DONE;
}

async function addEndpoints(call: ApiCall): Promise<ApiAnswer> {
  const name = goodName('the URL group', call.params['name'] ?? '');
  const endpoints = (await endpointsOf(call)).map(({ name: called, url }) => {
    if (url === undefined) throw badRequest('an endpoint has no url; write { "url": "https://…" }');
    const address = readAddress(url, 'invalid endpoint url');
    return called === undefined ? { url: address } : { name: called, url: address };
  });
  await call.deliveries.urlGroups.addEndpoints(name, endpoints);
  const group = await call.deliveries.urlGroups.get(name);
  if ((group?.endpoints.length ?? 0) > MOST_ENDPOINTS) {
    await call.deliveries.urlGroups.removeEndpoints(name, endpoints);
    throw new Refusal(412, `a URL group has ${MOST_ENDPOINTS} endpoints at most`);
  }
  return DONE;
}

async function removeEndpoints(call: ApiCall): Promise<ApiAnswer> {
  const { name = '' } = call.params;
  if (!(await call.deliveries.urlGroups.removeEndpoints(name, await endpointsOf(call)))) {
    throw notFound(`URL group ${name}, or an endpoint of it,`);
  }
  return DONE;
}

async function endpointsOf(
  call: ApiCall,
): Promise<readonly { readonly name?: string | undefined; readonly url?: string | undefined }[]> {
  const { endpoints } = fieldsOf(readJson(await call.bytes(SMALL_BODY)));
  if (!Array.isArray(endpoints) || endpoints.length === 0 || endpoints.length > MOST_ENDPOINTS) {
    throw badRequest(`endpoints is no list of 1 to ${MOST_ENDPOINTS} { name, url }`);
  }
  return endpoints.map((one: unknown) => {
    const { name, url } = fieldsOf(one);
    if (!isText(name) || !isText(url) || (name === undefined && url === undefined)) {
      throw badRequest('an endpoint is { name, url }, both text, one of them at least');
    }
    return { name: name as string | undefined, url: url as string | undefined };
  });
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('the body is no JSON object');
  return value as Readonly<Record<string, unknown>>;
}

function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value !== '');
}
