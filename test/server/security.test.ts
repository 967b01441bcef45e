import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { REDACTED } from '../../src/server/index.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { mayAs, ROLES } from '../../src/server/route.ts';
import { as, change, scriptedOperator, serveHere, TOKENS } from './serving.ts';

interface Problem {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly next: string;
}

async function codeOf(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const { code, title, detail, next } = (await response.json()) as Problem;
  expect([title, detail, next]).not.toContain('');
  return code;
}

/** Whatever a route needs in its body, filled in. */
const BODY = { reason: 'r', handler: 'h', key: 'k', name: 'n', payload: {}, verb: 'replay', filter: {} };

function bodyFor(route: (typeof ROUTES)[number]): object {
  const fitting = Object.entries(BODY).filter(([name]) => route.body && Object.hasOwn(route.body, name));
  const body = Object.fromEntries(fitting);
  // There `payload` is values to look for.
  return route.path.startsWith('api/erasures') ? { ...body, payload: undefined, person: 'usr_1' } : body;
}

/** With a host of our choice, which `fetch` does not allow. */
function askAs(url: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

describe('the operator server', () => {
  test('lets each role do what the table of routes says, and nobody else anything [X.9]', async () => {
    const { operator, asked } = scriptedOperator();
    const refusedWrites: unknown[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void refusedWrites.push(fields) };
    const { url } = await serveHere({ operator, tokens: TOKENS, logger, failedLoginsPerMinute: 1_000 });
    for (const route of ROUTES) {
      const path = `/${route.path.replace(':id', 'x')}${route.id === 'trace' ? '?id=a' : route.id === 'showRun' ? '?target=a' : ''}`;
      const init = route.method === 'GET' ? { headers: {} } : change(bodyFor(route));
      for (const role of ROLES) {
        asked.length = 0;
        const response = await fetch(url + path, { ...init, headers: Object.assign({}, init.headers, as(role)) });
        expect(response.status, `${role} ${route.id}`).toBe(mayAs(role, route.role) ? 200 : 403);
        // An edit looks at the message first: what was left hidden keeps its value.
        const calls = route.id === 'editMessage' ? 2 : 1;
        expect(asked.length, `${role} ${route.id}`).toBe(mayAs(role, route.role) ? calls : 0);
      }
      for (const headers of [
        {},
        { authorization: 'Bearer viewer-secret-0002' },
        { cookie: 'holdfast_session=a.b.c.d' },
      ]) {
        expect((await fetch(url + path, { ...init, headers: Object.assign({}, init.headers, headers) })).status).toBe(
          401,
        );
      }
    }
    expect(asked.length).toBeLessThanOrEqual(1);
    expect(refusedWrites).toContainEqual({ actor: 'vera', role: 'viewer', route: 'editMessage', code: 'FORBIDDEN' });
    const rerun = change({ handlers: ['a'], rerun: true }, as('operator'));
    expect(await codeOf(await fetch(`${url}/api/messages/x/replay`, rerun))).toBe('FORBIDDEN');
  });

  test('writes with a cookie only for its own pages, and its session has no secret in it and ends [X.9]', async () => {
    const { operator, asked } = scriptedOperator();
    const { url } = await serveHere({ operator, tokens: TOKENS, basePath: '/ops' });
    const login = await fetch(`${url}/ops/api/session`, change({ token: TOKENS[2].token }));
    const cookie = login.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^holdfast_session=[\w.-]+; Path=\/ops; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(TOKENS[2].token);
    const { csrf, actor, role } = (await login.json()) as { csrf: string; actor: string; role: string };
    expect([actor, role]).toEqual(['ada', 'admin']);
    const mine = { cookie: cookie.split(';')[0] ?? '' };
    const write = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${url}/ops/api/pause-all`, change({}, { ...mine, ...headers }));
    expect(await codeOf(await write({}))).toBe('CSRF_MISSING');
    expect(await codeOf(await write({ 'x-holdfast-csrf': `${csrf}x` }))).toBe('CSRF_MISSING');
    expect(await codeOf(await write({ 'x-holdfast-csrf': csrf, origin: 'https://evil.example' }))).toBe(
      'FOREIGN_ORIGIN',
    );
    expect(await codeOf(await write({ 'x-holdfast-csrf': csrf, 'sec-fetch-site': 'cross-site' }))).toBe(
      'FOREIGN_ORIGIN',
    );
    expect(asked).toEqual([]);
    expect((await write({ 'x-holdfast-csrf': csrf, origin: url })).status).toBe(200);
    expect(asked).toEqual([['pauseAll', { actor: 'ada' }]]);
    const forged = mine.cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    expect((await fetch(`${url}/ops/api/stats`, { headers: { cookie: forged } })).status).toBe(401);
    const out = { method: 'DELETE', headers: { ...mine, 'x-holdfast-csrf': csrf } };
    expect((await fetch(`${url}/ops/api/session`, out)).headers.get('set-cookie')).toContain('Max-Age=0');
    expect((await fetch(`${url}/ops/api/stats`, { headers: mine })).status).toBe(401);
  });

  test('without tokens answers this machine alone, and no name that merely leads here [X.9]', async () => {
    const { operator } = scriptedOperator();
    const { url, server } = await serveHere({ operator });
    expect((await fetch(`${url}/api/stats`)).status).toBe(200);
    const { port } = new URL(url);
    expect(await askAs(url, '/api/stats', { host: `localhost:${port}` })).toBe(200);
    expect(await askAs(url, '/api/stats', { host: `[::1]:${port}` })).toBe(200);
    for (const host of [
      'localhost',
      'localhost:1',
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
    ]) {
      expect(await askAs(url, '/api/stats', { host }), host).toBe(403);
      expect(await askAs(url, '/', { host }), host).toBe(403);
      expect(await askAs(url, '/api/session', { host }), host).toBe(403);
    }
    expect(await askAs(url, '/api/stats', { host: `localhost:${port}`, 'x-forwarded-for': '10.1.1.1' })).toBe(403);
    const asked = (peer?: string): Promise<Response> =>
      server.fetch(new Request('http://localhost/api/stats', { headers: { host: 'localhost' } }), { peer });
    expect((await asked('127.0.0.1')).status).toBe(200);
    expect((await asked('::ffff:127.0.0.1')).status).toBe(200);
    expect((await asked('10.0.0.7')).status).toBe(403);
    expect(await codeOf(await asked())).toBe('LOCAL_ONLY');
    expect(await codeOf(await fetch(`${url}/api/pause-all`, change({})))).toBe('CSRF_MISSING');
    expect(await askAs(url, '/healthz', { host: 'evil.example' })).toBe(200);
  });

  test('asks the application who it is, limits failed logins and writes, and can be read-only [X.9]', async () => {
    const { operator, asked } = scriptedOperator();
    const auth = (request_: Request): { actor: string; role: 'operator' } | undefined =>
      request_.headers.get('cookie') === 'app=1' ? { actor: 'olga', role: 'operator' } : undefined;
    const { url } = await serveHere({ operator, auth, writesPerMinute: 2 });
    const mine = { cookie: 'app=1' };
    expect((await fetch(`${url}/api/stats`)).status).toBe(401);
    const { csrf } = (await (await fetch(`${url}/api/session`, { headers: mine })).json()) as { csrf: string };
    const write = (): Promise<Response> =>
      fetch(`${url}/api/handlers/pause`, change({ handler: 'h' }, { ...mine, 'x-holdfast-csrf': csrf }));
    expect([(await write()).status, (await write()).status]).toEqual([200, 200]);
    const limited = await write();
    expect(limited.headers.get('retry-after')).toBe('30');
    expect(await codeOf(limited)).toBe('RATE_LIMITED');
    expect(asked.filter(([name]) => name === 'pause')).toHaveLength(2);

    const closed = await serveHere({ operator, tokens: TOKENS, failedLoginsPerMinute: 3, isReadOnly: true });
    expect(await codeOf(await fetch(`${closed.url}/api/pause-all`, change({}, as('admin'))))).toBe('READ_ONLY');
    const guess = (): Promise<Response> => fetch(`${closed.url}/api/session`, change({ token: 'guessed-secret-1' }));
    const codes = [await codeOf(await guess()), await codeOf(await guess()), await codeOf(await guess())];
    expect(codes).toEqual(['WRONG_TOKEN', 'WRONG_TOKEN', 'WRONG_TOKEN']);
    expect(await codeOf(await guess())).toBe('RATE_LIMITED');
    // Behind a proxy everybody has one address: who guesses shuts nobody out.
    expect((await fetch(`${closed.url}/api/stats`, { headers: as('admin') })).status).toBe(200);
  });

  test('hides places of payloads and texts of errors from those who may not see, and refuses to find them by trying [X.9]', async () => {
    const error = { name: 'E', message: 'no card of ann@example.com', kind: 'terminal', stack: 'ann@example.com' };
    const payload = { customer: { email: 'ann@example.com', id: 7 }, items: [{ iban: 'DE1' }, { iban: 'DE2' }] };
    const edits = [{ version: 0, payload, editedAt: new Date(0), actor: 'a' }];
    const message = {
      id: 'm',
      payload,
      headers: { Authorization: 'x ann@example.com', a: 'b' },
      deliveries: [{ error, failureHistory: [{ error }] }],
      edits,
      audit: [],
      lastError: error.message,
    };
    const filter = { payload: [{ path: ['customer', 'email'], value: 'ann@example.com' }], search: 'ann@example.com' };
    const { operator, asked } = scriptedOperator({
      show: { kind: 'found', message },
      deadLetters: { items: [{ id: 'd', error }] },
      messages: { items: [{ id: 'm', lastError: error.message }] },
      groups: { items: [{ id: 'g', error }] },
      bulks: { items: [{ id: 'b', filter }] },
      why: {
        kind: 'why',
        deliveries: [
          {
            reason: { kind: 'failed', attempts: 1, lastError: error.message, failedAt: new Date(0) },
            sentence: error.message,
          },
        ],
      },
      trace: { kind: 'trace', entries: [{ outcome: 'failed', detail: error.message }] },
      overview: { points: [], attention: [], handlers: [], breakers: [{ error }], audit: [{ details: { filter } }] },
      edit: { kind: 'edited', version: 1, count: 1 },
    });
    const redact = ['customer.email', 'items.*.iban', 'headers.authorization'];
    const mcp = async (_: Request, _who: object, seen: typeof operator): Promise<Response> =>
      Response.json(await seen.show('m'));
    const { url } = await serveHere({ operator, tokens: TOKENS, redact, mcp });
    const paths = [
      'messages/m',
      'dead-letters',
      'messages',
      'groups',
      'bulk',
      'messages/m/why',
      'trace?id=m',
      'overview',
    ];
    for (const path of [...paths.map((one) => `api/${one}`), 'mcp']) {
      const [hidden, shown] = await Promise.all(
        (['operator', 'admin'] as const).map(async (role) =>
          (await fetch(`${url}/${path}`, { headers: as(role) })).text(),
        ),
      );
      expect(hidden, path).not.toMatch(/ann@|DE1|DE2/);
      expect(hidden, path).toContain(REDACTED);
      expect(shown, path).toContain('ann@example.com');
    }
    asked.length = 0;
    const probes = [
      'messages?payload.customer.email=ann',
      'messages?payload.customer=1',
      'dead-letters?payload.items.0.iban=DE1',
      'dead-letters?search=ann',
      'messages?error=ann',
      'groups?search=ann',
      'messages?payload.customer\\.email.x=1&payload.customer.email.x=2',
    ];
    for (const probe of probes) {
      expect(await codeOf(await fetch(`${url}/api/${probe}`, { headers: as('viewer') })), probe).toBe('FIELD_REDACTED');
    }
    const plan = change({ verb: 'replay', filter: { payload: filter.payload } }, as('operator'));
    expect(await codeOf(await fetch(`${url}/api/bulk`, plan))).toBe('FIELD_REDACTED');
    expect(asked).toEqual([]);
    expect((await fetch(`${url}/api/messages?payload.customer.id=7`, { headers: as('viewer') })).status).toBe(200);

    const nobody = await serveHere({ operator, tokens: TOKENS, redact: { paths: redact, visibleTo: 'nobody' } });
    const edited = { customer: { email: REDACTED, id: 8 }, items: [{ iban: 'DE9' }, { iban: REDACTED }] };
    await fetch(`${nobody.url}/api/messages/m/edit`, change({ payload: edited }, as('admin')));
    expect(asked.findLast(([name]) => name === 'edit')?.[2]).toEqual({
      customer: { email: 'ann@example.com', id: 8 },
      items: [{ iban: 'DE9' }, { iban: 'DE2' }],
    });
  });

  test('hides keys with what they may be made of, in answers, searches and acts, unless they are shown [X.9]', async () => {
    const key = 'ann@example.com';
    const letter = { key, error: undefined };
    const { operator, asked } = scriptedOperator({
      show: {
        kind: 'found',
        message: { key, idempotencyKey: key, payload: { key: 1 }, headers: {}, deliveries: [], edits: [], audit: [] },
      },
      messages: { items: [{ key, lastError: undefined }] },
      deadLetters: { items: [letter] },
      heldKeys: { items: [{ key, holder: {} }], next: `32~${key}` },
      bulkItems: { items: [letter] },
      bulks: { items: [{ filter: { key } }] },
      audit: { items: [{ details: { key, releasedKey: key } }] },
      why: {
        kind: 'why',
        deliveries: [{ reason: { kind: 'behind', key, messageId: 'm', state: 'failed' }, sentence: `behind ${key}` }],
      },
      trace: { kind: 'trace', entries: [{ outcome: 'ok', ids: { eventId: 'm', key, idempotencyKey: key } }] },
      releaseKey: { kind: 'released', count: 1 },
    });
    const redact = { paths: ['customer.email'] };
    const { url } = await serveHere({ operator, tokens: TOKENS, redact });
    const shown = await serveHere({ operator, tokens: TOKENS, redact: { ...redact, showKeys: true } });
    const reads = [
      'messages/m',
      'messages',
      'dead-letters',
      'keys',
      'bulk/b/items',
      'bulk',
      'audit',
      'messages/m/why',
      'trace?id=m',
    ];
    for (const path of reads) {
      const text = async (at: string): Promise<string> =>
        (await fetch(`${at}/api/${path}`, { headers: as('operator') })).text();
      expect(await text(url), path).not.toContain('ann@');
      expect(await text(url), path).toContain(REDACTED);
      expect(await text(shown.url), path).toContain('ann@');
    }
    expect(await (await fetch(`${url}/api/messages/m`, { headers: as('viewer') })).json()).toMatchObject({
      message: { payload: { key: 1 } },
    });
    asked.length = 0;
    for (const probe of ['messages?key=ann', 'dead-letters?key=ann']) {
      expect(await codeOf(await fetch(`${url}/api/${probe}`, { headers: as('viewer') })), probe).toBe('FIELD_REDACTED');
    }
    const acts = { bulk: { verb: 'replay', filter: { key } }, 'keys/release': { handler: 'h', key } };
    for (const [path, body] of Object.entries(acts)) {
      expect(await codeOf(await fetch(`${url}/api/${path}`, change(body, as('operator')))), path).toBe(
        'FIELD_REDACTED',
      );
    }
    expect(asked).toEqual([]);
    expect((await fetch(`${shown.url}/api/keys/release`, change(acts['keys/release'], as('operator')))).status).toBe(
      200,
    );
  });

  test('stands whatever is sent to it, and tells browsers to run nothing but its own files [X.9]', async () => {
    const { operator, asked } = scriptedOperator({
      show: () => {
        throw new Error('connect failed: postgres://user:hunter2@db/x');
      },
    });
    const { url } = await serveHere({ operator, tokens: TOKENS, maxBodyBytes: 1_000 });
    const post = (body: BodyInit, type = 'application/json'): Promise<Response> =>
      fetch(`${url}/api/pause-all`, { method: 'POST', headers: { ...as('admin'), 'content-type': type }, body });
    expect(await codeOf(await post('x'.repeat(1_001)))).toBe('BODY_TOO_LARGE');
    // In pieces, and without saying how much it is.
    const pieces = new ReadableStream({
      start: (controller) => {
        for (let i = 0; i < 3; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(500)));
        controller.close();
      },
    });
    const headers = { ...as('admin'), 'content-type': 'application/json' };
    const inPieces = { method: 'POST', headers, body: pieces, duplex: 'half' } as RequestInit;
    expect(await codeOf(await fetch(`${url}/api/pause-all`, inPieces))).toBe('BODY_TOO_LARGE');
    expect(await codeOf(await post('{"reason":'))).toBe('NOT_JSON');
    expect(await codeOf(await post('[]'))).toBe('NOT_JSON');
    expect(await codeOf(await post(new Uint8Array([0x7b, 0xff, 0x7d])))).toBe('NOT_JSON');
    expect(await codeOf(await post('{}', 'text/plain'))).toBe('NOT_JSON');
    expect(await codeOf(await post('{"reason":"a\\u0000"}'))).toBe('INVALID_OPTIONS');
    expect(await codeOf(await post('{"reason":"\\ud800"}'))).toBe('INVALID_OPTIONS');
    expect(await codeOf(await post('{"__proto__":{"a":1},"other":2}'))).toBe('INVALID_OPTIONS');
    const get = (path: string): Promise<Response> => fetch(`${url}/${path}`, { headers: as('admin') });
    for (const path of [
      'api/groups/%00',
      'api/messages?limit=1e3',
      'api/messages?limit=1&limit=2',
      'api/messages?since=yesterday',
      'api/messages?other=1',
      'api/audit?verb=destroy',
      'api/messages?payload.=1',
    ]) {
      expect(await codeOf(await get(path)), path).toBe('INVALID_OPTIONS');
    }
    for (const path of [
      'api/%ff',
      'api/messages/%E0%A4',
      'api',
      'api/',
      'api//messages',
      'API/messages',
      '..%2f..%2fetc/passwd.js',
      'assets/..%2f..%2fpackage.json',
      '.env',
    ]) {
      expect((await get(path)).status, path).toBe(404);
    }
    expect(asked).toEqual([]);
    const failed = await get('api/messages/m');
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain('hunter2');
    const wrong = await fetch(`${url}/api/stats`, { method: 'PUT', headers: as('admin') });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET']);
    const { headers: told } = await get('api/session');
    expect(told.get('content-security-policy')).toMatch(
      /default-src 'none'.*script-src 'self';.*frame-ancestors 'none'/,
    );
    expect([told.get('x-content-type-options'), told.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer']);
    expect(told.get('access-control-allow-origin')).toBeNull();
  });
});
