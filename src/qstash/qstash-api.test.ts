import { describe, expect, it } from 'vitest';
import type { Deliveries } from '../delivery/deliveries.ts';
import type { PublishRequest } from '../delivery/publishing.ts';
import type { Scope } from '../delivery/secrets.ts';
import type { Logger } from '../kernel/log.ts';
import type { QstashApiOptions } from './api-options.ts';
import { qstashApi, type QstashApi } from './qstash-api.ts';

/** An API whose store notes what it is asked for; tokens are the names of scopes. */
function noting(more: Partial<QstashApiOptions> = {}): {
  readonly api: QstashApi;
  readonly asked: string[];
  readonly published: PublishRequest[];
} {
  const asked: string[] = [];
  const published: PublishRequest[] = [];
  const part = (name: string): object =>
    new Proxy(
      {},
      {
        get: (_target, verb) => (): never => {
          asked.push(`${name}.${String(verb)}`);
          throw new Error('not here');
        },
      },
    );
  const tokens = {
    verify: async (token: string) =>
      token === 'public'
        ? { id: token, name: token, scopes: ['admin'] as const, createdAt: new Date(0), isPublic: true }
        : ['publish', 'operate', 'admin'].includes(token)
          ? { id: token, name: token, scopes: [token as Scope], createdAt: new Date(0) }
          : undefined,
  };
  const publishing = {
    publish: async (requests: readonly PublishRequest[]) => {
      published.push(...requests);
      return requests.map(() => ({ kind: 'published', to: 'url', messages: [{ messageId: 'm', isDuplicate: false }] }));
    },
  };
  const known: Partial<Record<string, object>> = { tokens, publishing };
  const deliveries = new Proxy({} as Deliveries, { get: (_none, name) => known[String(name)] ?? part(String(name)) });
  return { api: qstashApi({ deliveries, ...more }), asked, published };
}

interface Ask {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function ask(api: QstashApi, target: string, { method = 'POST', token = 'admin', headers, body }: Ask = {}) {
  const request = new Request('http://localhost/', {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && { body }),
  });
  const response = await api.fetch(request, { target, peer: '::ffff:10.1.2.3' });
  return { status: response.status, headers: response.headers, value: (await response.json()) as { error?: string } };
}

const METHOD = { 'upstash-method': 'POST' };

describe('tricks in a destination', () => {
  it.each([
    'https://x.example/../../../keys/rotate',
    'https://x.example/%2e%2e/%2e%2e/%2e%2e/keys/rotate',
    'https://x.example/..%2f..%2f..%2fkeys%2frotate',
    'https://x.example/..\\..\\..\\keys\\rotate',
    'https://x.example/?qstash_token=other&upstash-retries=0&upstash-callback=https://evil.example',
    'https://x.example//v2/keys/rotate',
  ])('stay in the destination: %s [X.8]', async (destination) => {
    const { api, asked, published } = noting();
    expect(await ask(api, `/v2/publish/${destination}`, { headers: METHOD })).toMatchObject({ status: 201 });
    expect(asked).toEqual([]);
    expect(published).toHaveLength(1);
    expect(published[0]).toMatchObject({ to: { url: destination }, delivery: { retries: 3, callerIp: '10.1.2.3' } });
    expect(published[0]?.delivery.callback).toBeUndefined();
  });

  it.each([
    '/v2/publish/../keys/rotate',
    '/v2/publish/%2e%2e/keys/rotate',
    '/v2/publish/..%2fkeys%2frotate',
    '/v2/publish\\..\\keys\\rotate',
    '/v2/publish/',
    '/v2/./keys/rotate',
    '/v2//keys/rotate',
    '/v2/keys/./rotate',
    '/v2/keys%2frotate',
    '/v2/%6beys/rotate',
    '/v2/enqueue/q/../../keys/rotate',
    '/v2/../v2/keys/rotate',
  ])('lead nowhere: %s [X.8]', async (target) => {
    const { api, asked, published } = noting();
    const { status } = await ask(api, target, { headers: METHOD });
    expect([400, 404]).toContain(status);
    expect([...asked, ...published]).toEqual([]);
  });

  // What a client makes of `publish({ url: 'https://x/../../../…' })`: it has resolved the dots itself.
  it.each([
    '/v2/keys/rotate',
    '/v2/dlq/retry?count=100',
    '/v2/dlq/retry/some-id',
    '/v2/queues',
    '/v2/queues/q/pause',
    '/v2/topics/g/endpoints',
    '/v2/schedules/s/pause',
    '/v2/flowControl/k/pin?rate=1',
    '/v2/batch',
  ])('are seen for what they are at %s [X.8]', async (target) => {
    for (const headers of [METHOD, { 'upstash-cron': '* * * * *' }, { 'upstash-telemetry-sdk': 'x' }]) {
      const { api, asked, published } = noting();
      const { status, value } = await ask(api, target, { headers, body: '[]' });
      expect(status).toBe(400);
      expect(value.error).toMatch(/belongs to a message/);
      expect([...asked, ...published]).toEqual([]);
    }
  });
});

describe('who may what', () => {
  it.each([
    ['publish', 'POST', '/v2/publish/https://x.example', 201],
    ['publish', 'DELETE', '/v2/messages/m', 403],
    ['publish', 'GET', '/v2/events', 403],
    ['publish', 'GET', '/v2/keys', 403],
    ['operate', 'POST', '/v2/publish/https://x.example', 201],
    ['operate', 'GET', '/v2/keys', 403],
    ['operate', 'POST', '/v2/keys/rotate', 403],
    ['operate', 'DELETE', '/v2/messages/m', 500],
    ['admin', 'GET', '/v2/keys', 500],
    ['nobody', 'GET', '/v2/keys', 401],
    ['', 'GET', '/v2/keys?qstash_token=admin', 401],
    ['', 'POST', '/v2/publish/https://x.example?qstash_token=publish', 201],
    ['', 'POST', '/v2/publish/https://x.example?qstash_token=nobody', 401],
    ['nobody', 'POST', '/v2/publish/https://x.example?qstash_token=publish', 401],
  ])('the token %s with %s %s: %i [X.8]', async (token, method, target, status) => {
    const { api } = noting({ tokenInQuery: true });
    const answer = await ask(api, target, { token, method });
    expect(answer.status).toBe(status);
    if (status >= 400) expect(answer.value.error).toMatch(/\w/);
  });

  it('takes no token from the query unless it was told to, and a public one never [X.8]', async () => {
    const path = '/v2/publish/https://x.example?qstash_token=';
    expect((await ask(noting().api, `${path}publish`, { token: '' })).status).toBe(401);
    const { api, published } = noting({ tokenInQuery: true });
    expect(await ask(api, `${path}public`, { token: '' })).toMatchObject({
      status: 401,
      value: { error: expect.stringContaining('this token is public') as string },
    });
    expect(published).toEqual([]);
    expect((await ask(api, '/v2/publish/https://x.example', { token: 'public' })).status).toBe(201);
  });

  it('answers no page of another origin, whatever token it has [X.8]', async () => {
    const { api, published } = noting();
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect((await ask(api, '/v2/publish/https://x.example', { headers })).status).toBe(403);
    }
    expect(published).toEqual([]);
    // As Node's own fetch sends it.
    expect((await ask(api, '/v2/publish/https://x.example', { headers: { 'sec-fetch-mode': 'cors' } })).status).toBe(
      201,
    );
  });

  it('answers 429 with how many there may be and when, for each token by itself [X.8]', async () => {
    const { api } = noting({ requestsPerMinute: 2 });
    for (const status of [404, 404, 429]) expect((await ask(api, '/v2/none')).status).toBe(status);
    const { headers } = await ask(api, '/v2/none');
    expect(headers.get('Burst-RateLimit-Limit')).toBe('2');
    expect(headers.get('Burst-RateLimit-Remaining')).toBe('0');
    expect(Number(headers.get('Burst-RateLimit-Reset'))).toBeGreaterThan(1_700_000_000);
    expect((await ask(api, '/v2/none', { token: 'operate' })).status).toBe(404);
  });
});

describe('what is not there', () => {
  it.each([
    ['POST', '/v2/publish/api/llm', 400, /not supported.*docs\/delivery\.md/],
    ['DELETE', '/v2/workflows/runs/r?cancel=true', 400, /not supported.*docs\/delivery\.md/],
    ['PATCH', '/v2/topics/g', 400, /not supported.*docs\/delivery\.md/],
    ['POST', '/v2/llm/v1/chat/completions', 400, /not supported/],
    ['POST', '/v2/keys', 405, /GET/],
    ['DELETE', '/v2/messages', 400, /no filter/],
    ['DELETE', '/v2/messages?labl=a', 400, /"labl" is no filter/],
    ['DELETE', '/v2/dlq', 400, /no filter/],
    ['POST', '/v2/dlq/retry', 400, /no filter/],
    ['DELETE', '/v2/dlq?dlqIds=', 400, /empty/],
    ['GET', '/v2/events?state=LOST', 400, /CANCELED/],
    ['GET', '/v2/dlq?count=0', 400, /count/],
    ['POST', '/v2/publish/https://x.example?a', 413, /1000000/],
  ])('%s %s answers %i [X.8]', async (method, target, status, error) => {
    const { api, asked, published } = noting();
    const body = status === 413 ? 'a'.repeat(1_000_001) : undefined;
    const answer = await ask(api, target, { method, ...(body && { body }) });
    expect(answer.status).toBe(status);
    expect(answer.value.error).toMatch(error);
    expect([...asked, ...published]).toEqual([]);
  });
});

describe('the log', () => {
  it('is told whence somebody was refused, twenty times a minute, and never with what [X.9]', async () => {
    const lines: (readonly [fields: object, message: string])[] = [];
    const warn: Logger['warn'] = (fields, message) => void lines.push([fields, message]);
    const { api } = noting({ logger: { debug() {}, info() {}, error() {}, warn } });
    const path = '/v2/keys';
    await ask(api, path, { method: 'GET', token: 'publish' });
    await ask(api, path, { method: 'GET', token: '' });
    await ask(api, `${path}?qstash_token=guess-in-query`, { method: 'GET', token: 'guess\u007e' });
    const peer = '10.1.2.3';
    expect(lines).toEqual([
      [{ peer, httpStatus: 403, token: 'publish' }, 'QStash API: a request was refused'],
      [{ peer, httpStatus: 401 }, 'QStash API: a request was refused'],
      [{ peer, httpStatus: 401 }, 'QStash API: a request was refused'],
    ]);
    expect(JSON.stringify(lines)).not.toContain('guess');
    for (let i = 0; i < 100; i++) expect((await ask(api, path, { token: `guess-${i}` })).status).toBe(401);
    expect(lines.length).toBeGreaterThanOrEqual(20);
    expect(lines.length).toBeLessThan(30);
  });
});
