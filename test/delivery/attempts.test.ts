import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { deliveries, sink } from './kit.ts';

describe('a delivery', () => {
  test('that fails is tried again as its rules say, numbered, and then is a dead letter [X.8]', async () => {
    const { url, arrived } = await sink((response) => response.writeHead(500).end('no'));
    const { publish, sender, store } = await deliveries();
    const callback = { method: 'POST', retries: 1, headers: {}, url: 'https://b.example/' } as const;
    const id = await publish({ url, retries: 2, retryDelay: '5 * retried', callback, failureCallback: callback });
    await expect.poll(() => store.deadLetters().map((dead) => dead.id)).toEqual([id]);
    expect(arrived.map(({ headers }) => headers['upstash-retried'])).toEqual(['0', '1', '2']);
    expect(arrived.map(({ headers }) => headers['upstash-message-id'])).toEqual([id, id, id]);
    expect(sender.reports.map(({ attempt, state, callbacks }) => [attempt, state, callbacks.length])).toEqual([
      [1, 'ERROR', 1],
      [2, 'ERROR', 1],
      [3, 'FAILED', 2],
    ]);
    const [first] = sender.reports;
    expect(Number(first?.nextAt) - Number(first?.endedAt)).toBe(0);
    expect(first).toMatchObject({ responseStatus: 500, error: 'the destination answered 500' });
    expect(String(Buffer.from(first?.responseBody ?? []))).toBe('no');
    expect(store.deadLetters()).toMatchObject([{ attempts: 3, error: { name: 'DeliveryFailed', code: 'HTTP_500' } }]);
  });

  test('that is asked to come back comes when it is told, and one that must not come back does not [X.8]', async () => {
    let isFirst = true;
    const { url, arrived } = await sink((response, { path }) => {
      if (path === '/final') response.writeHead(489, { 'Upstash-NonRetryable-Error': 'true' }).end();
      else response.writeHead(isFirst ? 503 : 200, { 'retry-after': '0.05' }).end();
      isFirst = false;
    });
    const { publish, sender, store } = await deliveries();
    // By its own rules it would be tried again tomorrow.
    await publish({ url: `${url}/later`, retryDelay: '86400000' });
    await expect.poll(() => sender.reports.map(({ state }) => state)).toEqual(['ERROR', 'DELIVERED']);
    const id = await publish({ url: `${url}/final`, retries: 5, retryDelay: '0' });
    await expect.poll(() => store.deadLetters().map((dead) => dead.id)).toEqual([id]);
    expect(arrived.map(({ path }) => path)).toEqual(['/later', '/later', '/final']);
  });

  test('carries any bytes, by any method, and its body is what was given [X.8]', async () => {
    const { url, arrived } = await sink();
    const { publish, sender } = await deliveries();
    const bytes = randomBytes(300_000);
    await publish({ url, method: 'PUT', bodyBase64: bytes.toString('base64') });
    await publish({ url, method: 'GET' });
    await publish({ url, method: 'DELETE' });
    await publish({ url, method: 'PATCH', body: '' });
    await expect.poll(() => sender.reports.length).toBe(4);
    const put = arrived.find(({ method }) => method === 'PUT');
    expect(put?.body.equals(bytes)).toBe(true);
    const lengths = arrived.map(({ method, headers }) => [method, headers['content-length']] as const);
    expect(Object.fromEntries(lengths)).toEqual({ PUT: '300000', GET: undefined, DELETE: undefined, PATCH: '0' });
    expect(arrived.every(({ headers }) => headers['transfer-encoding'] === undefined)).toBe(true);
  });

  test('with a header that cannot be written is a dead letter at once, and the others go on [X.8]', async () => {
    const { url, arrived } = await sink();
    const { publish, sender, store } = await deliveries();
    const id = await publish({ url, headers: { 'X-Bad': ['a\r\nX-Smuggled: 1'] } });
    await publish({ url });
    await expect.poll(() => sender.reports.length).toBe(2);
    await expect.poll(() => store.deadLetters().map((dead) => dead.id)).toEqual([id]);
    expect(arrived.map(({ headers }) => headers['x-smuggled'])).toEqual([undefined]);
  });
});

describe('a registered endpoint', () => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`;

  test('is signed for by all of its secrets, as Standard Webhooks says [X.8]', async () => {
    const { url, arrived } = await sink();
    const { publish, sender } = await deliveries();
    const older = `whsec_${randomBytes(32).toString('base64')}`;
    const secrets = [secret, older];
    sender.endpoints.set('e1', { url: `${url}/now`, headers: { 'X-Mine': ['1'] }, secrets });
    const id = await publish({ url: `${url}/before`, signedBy: 'endpoint', endpointId: 'e1', body: '{"a":1}' });
    await expect.poll(() => sender.noted).toEqual([['e1', 'well']]);
    const [one] = arrived;
    const headers = one?.headers as Record<string, string>;
    expect([one?.path, headers['x-mine'], headers['webhook-id']]).toEqual(['/now', '1', id]);
    for (const known of [secret, older])
      expect(new Webhook(known).verify(String(one?.body), headers)).toEqual({ a: 1 });
    expect(Object.keys(headers).filter((name) => name.startsWith('upstash'))).toEqual([]);
  });

  test('that is gone is told so and not tried again, and one that was deleted is not called [X.8]', async () => {
    const { url, arrived } = await sink((response) => response.writeHead(410).end());
    const { publish, sender, store } = await deliveries();
    sender.endpoints.set('e1', { url, headers: {}, secrets: [secret] });
    const gone = await publish({ url, signedBy: 'endpoint', endpointId: 'e1', retryDelay: '0' });
    await expect.poll(() => store.deadLetters().map(({ id }) => id)).toEqual([gone]);
    sender.endpoints.set('e1', 'disabled');
    await publish({ url, signedBy: 'endpoint', endpointId: 'e1', retryDelay: '0', queue: 'waits' });
    const deleted = await publish({ url, signedBy: 'endpoint', endpointId: 'e2', retryDelay: '0' });
    await expect.poll(() => store.deadLetters().map(({ id }) => id)).toEqual([gone, deleted]);
    expect([arrived.length, sender.noted]).toEqual([1, [['e1', 'gone']]]);
    const waiting = (): unknown => store.deliveries().map(({ state, attempts }) => [state, attempts]);
    await expect.poll(waiting).toContainEqual(['waiting', 0]);
  });
});

describe('lines', () => {
  test('a queue keeps its order through retries; a flow-control key waits for its rate [X.8]', async () => {
    const failing = new Set(['/q/1', '/q/3']);
    const { url, arrived } = await sink((response, { path }) => {
      response.writeHead(failing.delete(path) ? 500 : 200).end();
    });
    const { publish, sender } = await deliveries();
    for (let i = 0; i < 5; i++) await publish({ url: `${url}/q/${i}`, queue: 'mail', retryDelay: '30' });
    await expect.poll(() => arrived.map(({ path }) => path.slice(3)).join('')).toBe('0112334');
    sender.flows.set('ann', { rate: 1, periodMs: 50, isPaused: false });
    sender.rates.push(40, 30);
    for (let i = 0; i < 3; i++) await publish({ url: `${url}/f/${i}`, flowKey: 'ann' });
    await expect.poll(() => arrived.filter(({ path }) => path.startsWith('/f')).length).toBe(3);
    expect(sender.rates).toEqual([]);
    const attempts = (): number[] => sender.reports.filter((one) => one.request.flowKey).map(({ attempt }) => attempt);
    await expect.poll(attempts).toEqual([1, 1, 1]);
  });
});

describe('sockets', () => {
  test('are used again, and one that the destination has closed meanwhile costs no attempt [X.8]', async () => {
    let connections = 0;
    const { url, server, arrived } = await sink();
    server.on('connection', () => (connections += 1));
    const { publish, sender } = await deliveries();
    await publish({ url });
    await expect.poll(() => sender.reports.length).toBe(1);
    await publish({ url });
    await expect.poll(() => sender.reports.length).toBe(2);
    expect(connections).toBe(1);
    // From now on the first request on each kept socket is answered by a reset.
    let resets = 1;
    server.prependListener('request', (request) => {
      if (resets-- > 0) request.socket.resetAndDestroy();
    });
    await publish({ url });
    await expect.poll(() => sender.reports.length).toBe(3);
    expect(sender.reports.map(({ state, attempt }) => [state, attempt])).toEqual([
      ['DELIVERED', 1],
      ['DELIVERED', 1],
      ['DELIVERED', 1],
    ]);
    expect(connections).toBe(2);
    expect(arrived.length).toBeGreaterThanOrEqual(3);
  });
});

describe('stopping', () => {
  test('lets what is on its way end, may be asked for twice, and starts nothing more [X.8]', async () => {
    const answers: (() => void)[] = [];
    const { url, arrived } = await sink((response) => answers.push(() => response.end()));
    const { publish, sender, running, store } = await deliveries();
    await publish({ url });
    await expect.poll(() => arrived.length).toBe(1);
    const stopped = [running.stop(), running.stop()];
    await publish({ url });
    answers[0]?.();
    await Promise.all(stopped);
    expect(sender.reports.map(({ state }) => state)).toEqual(['DELIVERED']);
    expect([arrived.length, store.deliveries().length]).toEqual([1, 1]);
  });

  test('gives back what does not end in time, without an attempt: another process delivers it under its number [X.8]', async () => {
    let isSlow = true;
    const { url, arrived } = await sink((response) => void (isSlow || response.end()));
    const { publish, sender, running, another } = await deliveries();
    const id = await publish({ url });
    await expect.poll(() => arrived.length).toBe(1);
    await running.stop({ drainMs: 0 });
    isSlow = false;
    await another();
    await expect.poll(() => sender.reports.map(({ messageId, attempt }) => [messageId, attempt])).toEqual([[id, 1]]);
    expect(arrived.map(({ headers }) => headers['upstash-retried'])).toEqual(['0', '0']);
  });

  test('a database that does not answer costs no attempt, and an address that is none is a dead letter [X.8]', async () => {
    const { url, arrived } = await sink();
    const { publish, sender, store } = await deliveries();
    const keys = sender.signingKeys.bind(sender);
    let failures = 0;
    sender.signingKeys = () => ((failures += 1) > 2 ? keys() : Promise.reject(new Error('away')));
    const id = await publish({ url, retries: 0 });
    await expect
      .poll(() => sender.reports.map(({ messageId, state }) => [messageId, state]))
      .toEqual([[id, 'DELIVERED']]);
    expect([failures, arrived.length]).toEqual([3, 1]);
    const bad = await publish({ url: 'http://[', queue: 'q', retryDelay: '0' });
    await expect.poll(() => store.deadLetters().map((dead) => dead.id)).toEqual([bad]);
  });

  test('a log that cannot be written holds the message back: it is delivered again, and counted once [X.8]', async () => {
    const { url, arrived } = await sink();
    const { publish, sender, store } = await deliveries();
    sender.reportFaults.push(...Array.from({ length: 3 }, () => new Error('away')));
    const id = await publish({ url });
    await expect.poll(() => sender.reports.map(({ messageId, attempt }) => [messageId, attempt])).toEqual([[id, 1]]);
    await expect.poll(() => store.delivered().map((one) => one.id)).toEqual([id]);
    expect(arrived.length).toBe(1);
  });
});
