import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { clientOf, type QstashHere, sharedQstash } from './qstash-here.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

test('what the client publishes arrives signed, byte for byte, with its headers and nothing of the way here [X.8]', async ({
  postgres,
}) => {
  const { url, token, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const client = clientOf(url, token, { 'X-All': 'everywhere' });
  const json = await client.publishJSON({
    url: `${sink.url}/json?a=1&b=%2F`,
    body: { hello: 'wörld' },
    headers: { 'X-Mine': 'yes' },
  });
  await client.publish({ url: `${sink.url}/text`, body: 'plain', method: 'PUT' });
  await client.publish({ url: `${sink.url}/none`, method: 'GET' });
  await client.publish({ url: `${sink.url}/bytes`, body: new Uint8Array([0xff, 0x00, 0xfe]) as never });
  await client.publish({ url: `${sink.url}/grün/a b?q=ü`, body: 'x' });
  await client.publish({ url: `${sink.url}/a/../dots`, body: 'x' });
  await expect.poll(() => sink.arrivals).toHaveLength(6);
  const [first] = sink.at('/json?a=1&b=%2F');
  expect(first).toMatchObject({ method: 'POST', body: '{"hello":"wörld"}', verified: true });
  expect(first?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-mine': 'yes',
    'x-all': 'everywhere',
    'upstash-message-id': json.messageId,
    'upstash-retried': '0',
    'user-agent': 'Upstash-QStash',
    'upstash-caller-ip': '127.0.0.1',
  });
  const names = Object.keys(first?.headers ?? {});
  expect(names.filter((name) => /telemetry|^authorization|^upstash-(?:method|forward)/.test(name))).toEqual([]);
  expect(sink.at('/text')).toMatchObject([{ method: 'PUT', body: 'plain', verified: true }]);
  expect(sink.at('/none')).toMatchObject([{ method: 'GET', body: '', verified: true }]);
  expect([...(sink.at('/bytes')[0]?.bytes ?? [])]).toEqual([0xff, 0x00, 0xfe]);
  expect(sink.at('/gr%C3%BCn/a%20b?q=%C3%BC')).toMatchObject([{ verified: true }]);
  expect(sink.at('/dots')).toMatchObject([{ verified: true }]);
});

test('all that is said of a message is read back by messages.get [X.8]', async ({ postgres }) => {
  const { client } = await qstashHere(postgres);
  const notBefore = Math.floor(Date.now() / 1_000) + 3_600;
  const { messageId } = await client.publish({
    url: 'https://example.com/hook?a=1',
    body: 'later',
    method: 'PATCH',
    headers: { 'X-Trace': 't', 'Content-Type': 'text/plain', 'Upstash-Callback-Forward-X-Back': 'b' },
    retries: 5,
    retryDelay: '1000 * (1 + retried)',
    notBefore,
    callback: 'https://example.com/cb',
    failureCallback: 'https://example.com/fail',
    timeout: 30,
    label: ['one', 'two'],
    flowControl: { key: 'kept', parallelism: 2, rate: 10, period: '1m' },
  });
  expect(await client.messages.get(messageId)).toMatchObject({
    messageId,
    url: 'https://example.com/hook?a=1',
    method: 'PATCH',
    header: { 'Content-Type': ['text/plain'], 'X-Trace': ['t'] },
    body: 'later',
    maxRetries: 5,
    retryDelayExpression: '1000 * (1 + retried)',
    notBefore: notBefore * 1_000,
    createdAt: expect.any(Number) as number,
    callback: 'https://example.com/cb',
    callbackHeader: { 'X-Back': ['b'] },
    failureCallback: 'https://example.com/fail',
    callerIp: '127.0.0.1',
    callerIP: '127.0.0.1',
    flowControlKey: 'kept',
    parallelism: 2,
    rate: 10,
    ratePerSecond: 10,
    period: 60,
    label: 'one',
    labels: ['one', 'two'],
  });
  await expect(client.messages.get('../messages/none')).rejects.toMatchObject({ status: 404 });
  expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
});

test('a batch takes in what it can, in one go, and tells of each that it cannot [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  await client.urlGroups.addEndpoints({
    name: 'batch-group',
    endpoints: [{ name: 'first', url: `${sink.url}/g1` }, { url: `${sink.url}/g2` }],
  });
  const answers = await client.batch([
    { url: `${sink.url}/one#part`, body: 'a' },
    { url: 'ftp://nowhere', body: 'b' },
    { url: 'http://169.254.169.254/latest', body: 'c' },
    { urlGroup: 'batch-group', body: 'd', headers: { 'X-D': '1' } },
    { url: `${sink.url}/queued`, body: 'e', queueName: 'batch-queue' },
    { url: `${sink.url}/late`, delay: 'soon' as never },
  ]);
  const id = expect.any(String) as string;
  expect(answers).toEqual([
    expect.objectContaining({ messageId: id }),
    { error: expect.stringContaining('invalid scheme') as string },
    { error: expect.stringContaining('not a public one') as string },
    [
      expect.objectContaining({ messageId: id, url: `${sink.url}/g1` }),
      expect.objectContaining({ messageId: id, url: `${sink.url}/g2` }),
    ],
    expect.objectContaining({ messageId: id }),
    { error: expect.stringContaining('Upstash-Delay') as string },
  ]);
  await expect.poll(() => sink.arrivals.map(({ path }) => path).toSorted()).toEqual(['/g1', '/g2', '/one', '/queued']);
  expect(sink.at('/g1')[0]?.headers).toMatchObject({ 'x-d': '1', 'upstash-topic-name': 'batch-group' });
  expect(sink.arrivals.filter(({ verified }) => verified !== true)).toEqual([]);
});

/** Sends a batch as it is written by clients in other languages. */
async function batchAsWritten(
  { url, token }: QstashHere,
  items: readonly object[],
): Promise<readonly { messageId?: string; error?: string }[]> {
  const response = await fetch(`${url}/v2/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as { messageId?: string; error?: string }[];
}

test('an item of a batch may leave out each field, write null or nothing for it, and have any JSON as its body [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const at = (path: string, rest: object): object => ({ destination: `${sink.url}${path}`, ...rest });
  const answers = await batchAsWritten(here, [
    // As the Python client writes an item, then as the Go client does.
    at('/python', { headers: { 'Upstash-Retries': '2' }, body: null, queue: null }),
    at('/go', { headers: { 'Upstash-Method': ['PUT'], 'Upstash-Forward-X': ['1', '2'] }, body: 'go', queue: '' }),
    at('/nulls', { headers: null, body: null, queue: null, other: null }),
    at('/values', { headers: { 'Upstash-Retries': 1, 'Upstash-Content-Based-Deduplication': true, 'X-No': null } }),
    at('/object', { body: { a: [1, null], b: 'ü' } }),
    at('/list', { body: [1, 'two'] }),
    at('/number', { body: 7 }),
    at('/queued', { body: false, queue: 'written-queue' }),
  ]);
  expect(answers.map(({ messageId, error }) => error ?? typeof messageId)).toEqual(Array(8).fill('string'));
  await expect.poll(() => sink.arrivals).toHaveLength(8);
  const bodies = Object.fromEntries(sink.arrivals.map(({ path, body }) => [path, body]));
  expect(bodies).toEqual({
    '/python': '',
    '/go': 'go',
    '/nulls': '',
    '/values': '',
    '/object': '{"a":[1,null],"b":"ü"}',
    '/list': '[1,"two"]',
    '/number': '7',
    '/queued': 'false',
  });
  expect(sink.at('/go')).toMatchObject([{ method: 'PUT', headers: { x: '1, 2' } }]);
  expect(sink.arrivals.filter(({ verified }) => verified !== true)).toEqual([]);
  expect(await here.client.messages.get(answers[0]?.messageId ?? '')).toMatchObject({ maxRetries: 2 });
  // What JavaScript cannot hold would arrive changed.
  for (const body of ['{"id":[12345678901234567890]}', '1e999', `${'['.repeat(5_000)}${']'.repeat(5_000)}`]) {
    const response = await fetch(`${here.url}/v2/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${here.token}` },
      body: `[{"destination":"${sink.url}/large","body":${body}}]`,
    });
    expect(await response.json()).toEqual([{ error: expect.stringContaining('as text') as string }]);
  }
});

test('a message with headers of a workflow is refused when it is published, with where to read about it [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const url = 'https://example.com/workflow';
  const refusal = { status: 400, message: expect.stringContaining('workflows are not supported') as string };
  for (const name of [
    'Upstash-Workflow-Init',
    'Upstash-Workflow-RunId',
    'Upstash-Callback-Workflow-RunId',
    'Upstash-Failure-Callback-Workflow-RunId',
  ]) {
    const headers = { [name]: 'x' };
    await expect(client.publish({ url, headers }), name).rejects.toMatchObject(refusal);
    await expect(client.queue({ queueName: 'w' }).enqueue({ url, headers }), name).rejects.toMatchObject(refusal);
    await expect(client.schedules.create({ destination: url, cron: '* * * * *', headers })).rejects.toMatchObject(
      refusal,
    );
    expect(await batchAsWritten(here, [{ destination: url, headers }])).toEqual([{ error: refusal.message }]);
  }
});

test('a callback that may not be called is refused when it is set, by a message, an item and a schedule [X.8]', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { client } = here;
  const url = 'https://example.com/calls-back';
  const hidden = ['http://169.254.169.254/latest', 'http://10.0.0.1/', 'https://example.com:25/', 'http://[fd00::1]/'];
  for (const callback of hidden) {
    for (const [settings, name] of [
      [{ callback }, 'callback'],
      [{ failureCallback: callback }, 'failure callback'],
    ] as const) {
      const refusal = { status: 400, message: expect.stringContaining(`invalid ${name} url`) as string };
      await expect(client.publish({ url, ...settings }), callback).rejects.toMatchObject(refusal);
      await expect(
        client.schedules.create({ destination: url, cron: '* * * * *', ...settings }),
        callback,
      ).rejects.toMatchObject(refusal);
      expect(await client.batch([{ url, ...settings }])).toEqual([{ error: refusal.message }]);
    }
  }
});

test('a delay between attempts that has no result for one of them is refused when it is published [X.8]', async ({
  postgres,
}) => {
  const { client } = await qstashHere(postgres);
  const url = 'https://example.com/never';
  for (const retryDelay of ['1/0', 'sqrt(0-1)', '0/0', 'pow(10, 400)', '-1/0', '1000 / retried', '1/(retried - 2)']) {
    const refusal = { status: 400, message: expect.stringContaining('no finite result') as string };
    await expect(client.publish({ url, retryDelay }), retryDelay).rejects.toMatchObject(refusal);
    await expect(
      client.publish({ url, callback: url, headers: { 'Upstash-Callback-Retry-Delay': retryDelay } }),
      retryDelay,
    ).rejects.toMatchObject(refusal);
  }
  // Nothing is divided by zero before the third retry, and there are two.
  const { messageId } = await client.publish({ url, retryDelay: '1/(retried - 2)', retries: 2, delay: 3_600 });
  expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
});

test('the same id, or the same content, within the window is taken in once and answered with 202 [X.8]', async ({
  postgres,
}) => {
  const { client, url, token, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const byId = { url: `${sink.url}/id`, body: 'one', deduplicationId: 'dedup-1' };
  const first = await client.publish(byId);
  expect(first).not.toHaveProperty('deduplicated');
  expect(await client.publish({ ...byId, body: 'two' })).toMatchObject({
    messageId: first.messageId,
    deduplicated: true,
  });
  const raw = await fetch(`${url}/v2/publish/${sink.url}/id`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'upstash-deduplication-id': 'dedup-1' },
  });
  expect(raw.status).toBe(202);
  const byContent = { url: `${sink.url}/content`, body: 'same', contentBasedDeduplication: true };
  const known = await client.publish(byContent);
  expect(await client.publish(byContent)).toMatchObject({ messageId: known.messageId, deduplicated: true });
  expect(await client.publish({ ...byContent, body: 'other' })).not.toHaveProperty('deduplicated');
  await expect.poll(() => sink.arrivals).toHaveLength(3);
  expect(sink.at('/id').map(({ body }) => body)).toEqual(['one']);
});

test('a message that waits is overtaken by one that does not [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const sentMs = Date.now();
  await client.publish({ url: `${sink.url}/delayed`, delay: 1 });
  await client.publish({ url: `${sink.url}/dated`, notBefore: Math.ceil(sentMs / 1_000) + 1 });
  await client.publish({ url: `${sink.url}/now` });
  await expect.poll(() => sink.arrivals).toHaveLength(3);
  expect(sink.arrivals[0]?.path).toBe('/now');
  expect((sink.at('/delayed')[0]?.atMs ?? 0) - sentMs).toBeGreaterThanOrEqual(1_000);
  expect(sink.at('/dated')[0]?.atMs).toBeGreaterThanOrEqual((Math.ceil(sentMs / 1_000) + 1) * 1_000);
});

test('what is hidden is shown to nobody and delivered all the same [X.8]', async ({ postgres }) => {
  const { client, openSink } = await qstashHere(postgres);
  const sink = await openSink();
  const { messageId } = await client.publish({
    url: `${sink.url}/secret`,
    body: 'pin 1234',
    headers: { 'X-Secret': 's', 'X-Open': 'o' },
    redact: { body: true, header: ['X-Secret'] },
  });
  await expect.poll(() => sink.at('/secret')).toMatchObject([{ body: 'pin 1234', headers: { 'x-secret': 's' } }]);
  const shown = await client.messages.get(messageId);
  expect(shown.body).toBe('[redacted by sender]');
  expect(shown.header).toMatchObject({ 'X-Secret': ['[redacted by sender]'], 'X-Open': ['o'] });
  const { logs } = await client.logs({ messageIds: [messageId] });
  expect(JSON.stringify(logs)).not.toMatch(/pin 1234|cGluIDEyMzQ/);
});

test('webhooks of others come in by a token in the address, which nobody else gets to see [X.8]', async ({
  postgres,
}) => {
  const { url: refusing, deliveries, openSink, another } = await qstashHere(postgres);
  const url = await another({ tokenInQuery: true });
  const sink = await openSink();
  const { token } = await deliveries.tokens.create('intake', ['publish']);
  const settings = `qstash_token=${token}&upstash-retries=1&upstash-header-forward=true&upstash-method=PUT`;
  const answer = await fetch(`${url}/v2/publish/${sink.url}/intake?kept=1&${settings}`, {
    method: 'POST',
    headers: { 'x-github-event': 'push' },
    body: '{}',
  });
  expect(answer.status).toBe(201);
  await expect
    .poll(() => sink.at('/intake?kept=1'))
    .toMatchObject([{ method: 'PUT', headers: { 'x-github-event': 'push' } }]);
  expect(JSON.stringify(sink.arrivals)).not.toContain(token);
  const untold = await fetch(`${refusing}/v2/publish/${sink.url}/intake?${settings}`, { method: 'POST' });
  expect(untold.status).toBe(401);
});
