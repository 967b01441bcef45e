import { expect } from 'vitest';
import { ROUTES } from '../../src/qstash/all-routes.ts';
import { matchPath } from '../../src/qstash/match-path.ts';
import { as, scriptedOperator, serveHere, TOKENS } from '../server/serving.ts';
import { needs } from '../support/needs.ts';
import { sharedQstash } from '../qstash/qstash-here.ts';
import type { Sink } from '../qstash/sink.ts';
import { V2Caller } from './v2-caller.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

const LATER = { 'upstash-delay': '1h' };
const SECRET = 'Bearer acme-secret';

/** Everything a tenant can have, under names that the other tenant uses too. */
interface Owned {
  readonly published: string;
  readonly enqueued: string;
  readonly dead: string;
  readonly dlqId: string;
}

async function fill(acme: V2Caller, sink: Sink): Promise<Owned> {
  const forwarded = { 'upstash-forward-authorization': SECRET, 'upstash-label': 'acme-label' };
  const flow = { 'upstash-flow-control-key': 'flow', 'upstash-flow-control-value': 'parallelism=7' };
  const published = await acme.ask('POST', `publish/${sink.url}/acme-page`, {
    headers: { ...LATER, ...forwarded, ...flow, 'upstash-deduplication-id': 'one' },
    body: 'acme-body',
  });
  expect(published.status).toBe(201);
  expect(
    (await acme.ask('POST', 'queues', { body: { queueName: 'queue', parallelism: 3, paused: true } })).status,
  ).toBe(200);
  const enqueued = await acme.ask('POST', `enqueue/queue/${sink.url}/acme-page`, {
    headers: forwarded,
    body: 'acme-body',
  });
  const endpoints = [{ name: 'acme-endpoint', url: `${sink.url}/acme-page` }];
  expect((await acme.ask('POST', 'topics/group/endpoints', { body: { endpoints } })).status).toBe(200);
  const cron = { 'upstash-cron': '0 0 1 1 *', 'upstash-schedule-id': 'schedule', ...forwarded };
  expect((await acme.ask('POST', `schedules/${sink.url}/acme-page`, { headers: cron, body: 'acme-body' })).status).toBe(
    201,
  );
  sink.on('/acme-dead', () => ({
    status: 489,
    headers: { 'upstash-nonretryable-error': 'true' },
    body: 'acme-answer',
  }));
  const dead = await acme.ask('POST', `publish/${sink.url}/acme-dead`, {
    headers: { ...forwarded, 'upstash-retries': '0' },
    body: 'acme-body',
  });
  let dlqId = '';
  await expect
    .poll(async () => {
      const { messages } = (await acme.ask('GET', 'dlq')).json as { messages: { dlqId: string }[] };
      dlqId = messages[0]?.dlqId ?? '';
      return dlqId;
    })
    .not.toBe('');
  const idOf = ({ json }: { readonly json: Readonly<Record<string, unknown>> }): string => String(json['messageId']);
  return { published: idOf(published), enqueued: idOf(enqueued), dead: idOf(dead), dlqId };
}

/** All that acme is shown of what it has. */
async function shownTo(acme: V2Caller, { published, enqueued, dlqId }: Owned): Promise<unknown> {
  const shown = [];
  for (const path of [
    `messages/${published}`,
    `messages/${enqueued}`,
    `dlq/${dlqId}`,
    'queues/queue',
    'topics/group',
    'flowControl/flow',
    'schedules/schedule',
    'keys',
  ]) {
    const { status, json } = await acme.ask('GET', path);
    shown.push([path, status, json]);
  }
  return shown;
}

test('what one tenant has, another neither sees nor changes, on any route', async ({ postgres }) => {
  const { url, deliveries, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const tokenOf = async (tenant: string): Promise<string> =>
    (await deliveries.tokens.create(tenant, ['admin'], { tenant })).token;
  const acme = new V2Caller(url, await tokenOf('acme'));
  const beta = new V2Caller(url, await tokenOf('beta'));
  const owned = await fill(acme, sink);
  const { published, enqueued, dead, dlqId } = owned;
  const before = await shownTo(acme, owned);
  const ids = [published, enqueued, dead];
  const answers: { readonly asked: string; readonly told: string }[] = [];
  const expected = async (
    status: number,
    method: string,
    path: string,
    options?: Parameters<V2Caller['ask']>[2],
  ): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await beta.ask(method, path, options);
    expect([method, path, answer.status, answer.text]).toEqual([method, path, status, answer.text]);
    answers.push({ asked: `${method} ${path} ${JSON.stringify(options?.body ?? '')}`, told: answer.text });
    return answer.json;
  };

  // Reading, before beta has anything.
  for (const id of ids) await expected(404, 'GET', `messages/${id}`);
  const filters = ['', `?messageIds=${ids.join(',')}`, '?queueName=queue', '?label=acme-label', '?topicName=group'];
  for (const filter of [...filters, '?flowControlKey=flow', '?scheduleId=schedule']) {
    expect(await expected(200, 'GET', `events${filter}`)).toEqual({ events: [] });
    expect(await expected(200, 'GET', `logs${filter}`)).toEqual({ logs: [] });
    expect(await expected(200, 'GET', `dlq${filter}`)).toEqual({ messages: [] });
  }
  await expected(404, 'GET', `dlq/${dlqId}`);
  for (const list of ['queues', 'topics', 'schedules', 'flowControl', 'flowControl?search=f']) {
    expect(await expected(200, 'GET', list)).toEqual([]);
  }
  for (const one of ['queues/queue', 'topics/group', 'schedules/schedule', 'flowControl/flow']) {
    await expected(404, 'GET', one);
  }
  await expected(200, 'GET', 'globalParallelism');

  // Changing and taking away what is acme's, by its id, its name, and in bulk.
  for (const id of ids) await expected(404, 'DELETE', `messages/${id}`);
  for (const filter of [
    ...filters.slice(1),
    '?flowControlKey=flow',
    '?count=1000',
    `?host=${new URL(sink.url).host}`,
  ]) {
    expect(await expected(200, 'DELETE', `messages${filter}`)).toEqual({ cancelled: 0 });
  }
  expect(await expected(200, 'DELETE', 'messages', { body: { messageIds: ids } })).toEqual({ cancelled: 0 });
  await expected(404, 'DELETE', `dlq/${dlqId}`);
  expect(await expected(200, 'DELETE', `dlq?dlqIds=${dlqId}`)).toEqual({ deleted: 0 });
  expect(await expected(200, 'DELETE', 'dlq', { body: { dlqIds: [dlqId] } })).toEqual({ deleted: 0 });
  expect(await expected(200, 'DELETE', 'dlq?count=100')).toEqual({ deleted: 0 });
  await expected(404, 'POST', `dlq/retry/${dlqId}`);
  expect(await expected(201, 'POST', `dlq/retry?dlqIds=${dlqId}`)).toEqual({ responses: [] });
  expect(await expected(201, 'POST', 'dlq/retry?count=100', { headers: { 'upstash-retries': '1' } })).toEqual({
    responses: [],
  });
  await expected(404, 'DELETE', 'queues/queue');
  await expected(404, 'DELETE', 'topics/group');
  await expected(404, 'DELETE', 'topics/group/endpoints', { body: { endpoints: [{ name: 'acme-endpoint' }] } });
  await expected(400, 'PATCH', 'topics/group');
  await expected(404, 'DELETE', 'schedules/schedule');
  for (const verb of ['pause', 'resume']) {
    await expected(404, 'PATCH', `schedules/schedule/${verb}`);
    await expected(404, 'POST', `schedules/schedule/${verb}`);
  }
  await expected(404, 'POST', `publish/group`, { body: 'x' });

  // Making things of the same names.
  await expected(201, 'POST', `publish/${sink.url}/beta`, { headers: { ...LATER, 'upstash-deduplication-id': 'one' } });
  await expected(201, 'POST', `publish/${sink.url}/acme-page`, {
    headers: {
      ...LATER,
      'upstash-forward-authorization': SECRET,
      'upstash-content-based-deduplication': 'true',
      'upstash-flow-control-key': 'flow',
      'upstash-flow-control-value': 'parallelism=1, rate=1',
    },
    body: 'beta-body',
  });
  await expected(201, 'POST', `enqueue/queue/${sink.url}/beta-queued`, { body: 'beta-body' });
  const batch = await beta.ask('POST', 'batch', {
    body: [
      { destination: `${sink.url}/beta`, headers: { 'Upstash-Deduplication-Id': 'one', ...LATER } },
      { destination: 'group' },
      { destination: `${sink.url}/beta`, queue: 'queue' },
    ],
  });
  expect(batch.json).toMatchObject([
    { deduplicated: true, messageId: expect.not.stringMatching(published) as string },
    { error: expect.stringContaining('no URL group') as string },
    { messageId: expect.any(String) as string },
  ]);
  await expected(200, 'POST', 'queues', { body: { queueName: 'queue', parallelism: 1 } });
  await expected(200, 'POST', 'queues/queue/pause');
  await expected(200, 'POST', 'queues/queue/resume');
  await expected(200, 'POST', 'topics/group/endpoints', { body: { endpoints: [{ url: `${sink.url}/beta` }] } });
  for (const verb of ['pause', 'resume', 'resetRate', 'reset', 'pin?parallelism=2', 'unpin?parallelism=true']) {
    await expected(200, 'POST', `flowControl/flow/${verb}`);
  }
  await expected(201, 'POST', `schedules/${sink.url}/beta`, {
    headers: { 'upstash-cron': '0 0 2 2 *', 'upstash-schedule-id': 'schedule' },
  });
  const keys = await expected(200, 'POST', 'keys/rotate');
  expect(await expected(200, 'GET', 'keys')).toEqual(keys);

  // Acme has what it had, and nothing of it was in what beta was told.
  expect(await shownTo(acme, owned)).toEqual(before);
  for (const { asked, told } of answers) {
    for (const secret of ['acme-body', 'acme-label', 'acme-answer', 'acme-endpoint', 'acme-dead', 'acme-secret']) {
      expect(told, asked).not.toContain(secret);
    }
    // An id that was asked for is in the sentence that says there is none.
    for (const id of ids) if (!asked.includes(id)) expect(told, asked).not.toContain(id);
  }
  // Beta has its own, under the same names.
  expect(await expected(200, 'GET', 'queues/queue')).toMatchObject({ name: 'queue', parallelism: 1, paused: false });
  expect(await expected(200, 'GET', 'topics/group')).toMatchObject({ endpoints: [{ url: `${sink.url}/beta` }] });
  expect(await expected(200, 'GET', 'schedules/schedule')).toMatchObject({ cron: '0 0 2 2 *', scheduleId: 'schedule' });
  expect(await expected(200, 'GET', 'flowControl/flow')).toMatchObject({ flowControlKey: 'flow', parallelismMax: 2 });
  for (const gone of ['queues/queue', 'topics/group', 'schedules/schedule']) await expected(200, 'DELETE', gone);
  expect(await shownTo(acme, owned)).toEqual(before);

  const tried = beta.asked.map(
    ([method, path]) =>
      matchPath(ROUTES, path.split('?', 1)[0] ?? '').find(({ route }) => route.method === method)?.route,
  );
  expect(ROUTES.filter((route) => !tried.includes(route)).map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test('what a tenant publishes is delivered signed by its own keys, and so are its callbacks and schedules', async ({
  postgres,
}) => {
  const { url, deliveries, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const { token } = await deliveries.tokens.create('gamma', ['admin'], { tenant: 'gamma' });
  const gamma = new V2Caller(url, token);
  const { current, next } = (await gamma.ask('GET', 'keys')).json;
  const own = await deliveries.signingKeys.get();
  expect([current, next]).not.toContain(own.current);
  sink.expectKeys({ current: String(current), next: String(next) });
  await gamma.ask('POST', `enqueue/q/${sink.url}/signed`, {
    headers: { 'upstash-callback': `${sink.url}/called-back` },
    body: 'x',
  });
  await gamma.ask('POST', `publish/${sink.url}/flowing`, {
    headers: { 'upstash-flow-control-key': 'f', 'upstash-flow-control-value': 'rate=10, period=1m' },
  });
  await expect
    .poll(() => sink.arrivals.map(({ path, verified }) => `${path} ${verified}`).toSorted())
    .toEqual(['/called-back true', '/flowing true', '/signed true']);
  // The callback is gamma's too: nobody else finds it in the log.
  const shown = (await gamma.ask('GET', 'events?count=100')).text;
  expect(shown).toContain('/called-back');
  const other = new V2Caller(url, (await deliveries.tokens.create('other', ['admin'])).token);
  expect((await other.ask('GET', 'events?count=1000')).text).not.toContain('/called-back');
});

test('operators see what all tenants have, with whose it is', async ({ postgres }) => {
  const { url, deliveries, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const { token } = await deliveries.tokens.create('delta', ['operate'], { tenant: 'delta' });
  const delta = new V2Caller(url, token);
  await delta.ask('POST', 'queues', { body: { queueName: 'night', parallelism: 2, paused: true } });
  const { messageId } = (await delta.ask('POST', `enqueue/night/${sink.url}/x`)).json;
  expect(await deliveries.messages.get(String(messageId))).toMatchObject({
    request: { tenant: 'delta', queue: 'night' },
  });
  expect(await deliveries.queues.get('@delta/night')).toMatchObject({ parallelism: 2, lag: 1 });
  const { items } = await deliveries.messages.list({ queue: '@delta/night' }, { limit: 10 });
  expect(items.map((one) => one.messageId)).toEqual([messageId]);
  expect((await deliveries.messages.list({ queue: 'night' }, { limit: 10 })).items).toEqual([]);
  const { url: ops } = await serveHere({ operator: scriptedOperator().operator, deliveries, tokens: TOKENS });
  const shown = async (path: string): Promise<unknown> =>
    (await fetch(`${ops}/api/delivery/${path}`, { headers: as('viewer') })).json();
  const request = { tenant: 'delta', queue: 'night' };
  expect(await shown(`messages/${String(messageId)}`)).toMatchObject({ item: { request } });
  expect(await shown('messages?queue=@delta/night')).toMatchObject({ items: [{ messageId, request }] });
  expect(await shown('messages?tenant=delta')).toMatchObject({ items: [{ messageId }] });
  expect(await shown('queues')).toContainEqual(expect.objectContaining({ name: '@delta/night', isPaused: true }));
  const tokens = await deliveries.tokens.list();
  expect(tokens.find(({ name }) => name === 'delta')).toMatchObject({ tenant: 'delta' });
  expect(tokens.find(({ name }) => name === 'tests')).toMatchObject({ tenant: 'default' });
});

test('names that lead into what is not its own are plain names to a tenant', async ({ postgres }) => {
  const { url, deliveries, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const { token } = await deliveries.tokens.create('plain', ['admin']);
  const plain = new V2Caller(url, token);
  const by = { actor: 'test' };
  const outcome = await deliveries.endpoints.create({ url: `${sink.url}/hook` }, by);
  const id = outcome.kind === 'done' ? outcome.endpoint.id : '';
  await deliveries.flowControls.pin('@acme/inner', { parallelism: 5 });
  for (const key of [`endpoint:${id}`, '@acme/inner', '@default/x']) {
    const path = `flowControl/${encodeURIComponent(key)}`;
    expect((await plain.ask('GET', path)).status, key).toBe(404);
    expect((await plain.ask('POST', `${path}/pause`)).status, key).toBe(200);
    expect((await plain.ask('GET', path)).json, key).toMatchObject({ flowControlKey: key, isPaused: true });
    const headers = { ...LATER, 'upstash-flow-control-key': key };
    const { messageId } = (await plain.ask('POST', `publish/${sink.url}/x`, { headers })).json;
    const found = (await plain.ask('GET', `events?flowControlKey=${encodeURIComponent(key)}`)).text;
    expect(found).toContain(String(messageId));
  }
  expect(await deliveries.flowControls.get(`endpoint:${id}`)).toMatchObject({ isPaused: false });
  expect(await deliveries.flowControls.get('@acme/inner')).toMatchObject({ isPaused: false, parallelism: 5 });
  for (const tenant of ['', 'a/b', '@a', 'A B', 'x'.repeat(41)]) {
    await expect(deliveries.tokens.create('t', ['publish'], { tenant })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  }
});
