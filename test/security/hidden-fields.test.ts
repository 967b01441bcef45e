import { describe, expect } from 'vitest';
import type { OperatorServerOptions } from '../../src/server/index.ts';
import { as, change } from '../server/serving.ts';
import { needs } from '../support/needs.ts';
import { ALWAYS, foundIn, HIDDEN_BELOW_ADMIN, plant, type Planted, REDACT, serve } from './planted.ts';

const test = needs('postgres');
const ROLES = ['viewer', 'operator', 'admin'] as const;

interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
}

/** Whether a search finds anything, refused ones included: they find nothing. */
async function finds(url: string, path: string, role: (typeof ROLES)[number]): Promise<boolean> {
  const response = await fetch(`${url}/api/${path}`, { headers: as(role) });
  if (response.status === 403) return false;
  expect(response.status, path).toBe(200);
  const { items, next } = (await response.json()) as { items: unknown[]; next?: string };
  expect(next).toBeUndefined();
  return items.length > 0;
}

async function edit(url: string, id: string, payload: unknown): Promise<Problem | undefined> {
  const response = await fetch(`${url}/api/messages/${id}/edit`, change({ payload, reason: 'r' }, as('admin')));
  if (response.status === 200) return undefined;
  return (await response.json()) as Problem;
}

async function shownPayload(url: string, id: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/api/messages/${id}`, { headers: as('admin') });
  return ((await response.json()) as { message: { payload: Record<string, unknown> } }).message.payload;
}

async function keptPayload({ store }: Planted, id: string): Promise<Record<string, unknown>> {
  const [row] = await store.database.rows(id);
  return row?.['payload'] as Record<string, unknown>;
}

const opened = async (
  server: Parameters<typeof plant>[0],
  options: Partial<OperatorServerOptions> = {},
): Promise<{ readonly planted: Planted; readonly url: string }> => {
  const planted = await plant(server);
  return { planted, url: (await serve(planted, options)).url };
};

describe('a hidden value', () => {
  test('is not found by searching for pieces of it, whoever searches and wherever [X.9]', async ({ postgres }) => {
    const { url } = await opened(postgres);
    const pieces = [ALWAYS.header, ALWAYS.header.slice(0, 12), ALWAYS.hiddenBody, ALWAYS.query, ALWAYS.forwarded];
    for (const role of ROLES) {
      for (const piece of pieces) {
        expect(await finds(url, `dead-letters?search=${encodeURIComponent(piece)}`, role), piece).toBe(false);
      }
      const places = {
        'headers.Authorization': `Bearer ${ALWAYS.header}`,
        'request.headers.authorization': `Bearer ${ALWAYS.forwarded}`,
        'headers.X-Private': ALWAYS.hiddenHeader,
        body: ALWAYS.hiddenBody,
        url: `https://shop.example/orders?token=${ALWAYS.query}`,
        'callback.url': `https://done.example/?token=${ALWAYS.query}`,
      };
      for (const [place, value] of Object.entries(places)) {
        for (const list of ['messages', 'dead-letters']) {
          const path = `${list}?payload.${place}=${encodeURIComponent(JSON.stringify(value))}`;
          expect(await finds(url, path, role), `${role} ${path}`).toBe(false);
        }
      }
      const selected = encodeURIComponent(`https://shop.example/orders?token=${ALWAYS.query}`);
      expect(await finds(url, `delivery/messages?url=${selected}`, role)).toBe(false);
      // What is not hidden is found as before.
      expect(await finds(url, 'messages?payload.customer.id=7', role)).toBe(true);
      expect(await finds(url, 'dead-letters?search=order.placed', role)).toBe(true);
      expect(await finds(url, 'delivery/messages?url=https://shop.example/hidden', role)).toBe(true);
    }
  });

  test('that a rule names is neither found nor compared, counted, erased or acted on by it [X.9]', async ({
    postgres,
  }) => {
    const { url, planted } = await opened(postgres, { redact: { paths: [...REDACT, 'url'], visibleTo: 'nobody' } });
    const { email, userEmail, key, error } = HIDDEN_BELOW_ADMIN;
    const probes = [
      `messages?payload.customer.email=${email}`,
      `messages?payload.CUSTOMER.Email=${email}`,
      `messages?payload.request.headers.X-User-Email=${userEmail}`,
      `dead-letters?payload.customer.email=${email}`,
      `dead-letters?search=${email.slice(0, 3)}`,
      `dead-letters?search=${error.slice(0, 5)}`,
      `dead-letters?key=${key}`,
      `messages?key=${key}`,
      `messages?error=${error.slice(0, 5)}`,
      `groups?search=${error.slice(0, 5)}`,
      `trace?id=${key}`,
      'messages?payload.body=x',
      'delivery/messages?url=https://shop.example/hidden',
      'delivery/log?host=shop.example',
      'delivery/dead?path=/hidden',
    ];
    for (const probe of probes) {
      const response = await fetch(`${url}/api/${probe}`, { headers: as('admin') });
      expect([403, 404], probe).toContain(response.status);
      if (response.status === 403) expect(await response.json(), probe).toMatchObject({ code: 'FIELD_REDACTED' });
    }
    const matches = [{ path: ['customer', 'email'], value: email }];
    const acts: Readonly<Record<string, object>> = {
      bulk: { verb: 'replay', filter: { payload: matches } },
      'dead-letters/replay': { filter: { search: 'x' } },
      'erasures/preview': { payload: matches },
      erasures: { payload: matches, reason: 'r' },
      'keys/replay': { handler: 'send', key },
      'keys/skip': { handler: 'send', key, reason: 'r' },
    };
    for (const [path, body] of Object.entries(acts)) {
      const response = await fetch(`${url}/api/${path}`, change(body, as('admin')));
      expect(await response.json(), path).toMatchObject({ code: 'FIELD_REDACTED', status: 403 });
    }
    expect(await planted.store.database.sql('select from $S.bulk')).toEqual([]);
  });

  test('is shown the same whatever it is, and a rule for one place of a list holds for all [X.9]', async ({
    postgres,
  }) => {
    const planted = await plant(postgres);
    const { database } = planted.store;
    const lists = { items: [{ iban: 'planted-iban-1' }, { iban: 'planted-iban-2' }] };
    const id = await database.dead({ handler: 2, payload: lists });
    for (const rule of ['items.0.iban', 'items[0].iban', 'items[].iban', 'items[*].iban', 'ITEMS.iban']) {
      const { url } = await serve(planted, { redact: [rule] });
      const shown = await (await fetch(`${url}/api/messages/${id}`, { headers: as('viewer') })).text();
      expect(shown, rule).not.toContain('planted-iban');
      const asked = await fetch(`${url}/api/messages?payload.items.1.iban=x`, { headers: as('viewer') });
      expect(asked.status, rule).toBe(403);
    }
    const { url } = await serve(planted);
    expect(await shownPayload(url, planted.hiddenId)).toMatchObject({
      body: '[redacted by sender]',
      headers: { 'X-Private': ['[redacted by sender]'] },
    });
  });
});

describe('an edit by somebody who does not see all', () => {
  test('keeps what was left hidden, and stores neither a placeholder nor a hidden value in the open [X.9]', async ({
    postgres,
  }) => {
    const { planted, url } = await opened(postgres);
    for (const id of [planted.deliveryId, planted.hiddenId]) {
      const before = await keptPayload(planted, id);
      const shown = await shownPayload(url, id);
      expect(foundIn(JSON.stringify(shown), ALWAYS)).toEqual([]);
      expect(await edit(url, id, { ...shown, retries: 9 })).toBeUndefined();
      expect(await keptPayload(planted, id)).toEqual({ ...before, retries: 9 });
      await planted.store.database.sql(
        `update $S.delivery set state = 2, failed_at = now(), error = '{}', due_at = null`,
      );
    }
    const hidden = await shownPayload(url, planted.hiddenId);
    const plain = await shownPayload(url, planted.deliveryId);
    const { hidden: _, ...open } = hidden;
    const refused: readonly (readonly [string, unknown])[] = [
      [planted.hiddenId, { ...hidden, headers: { Accept: ['[redacted by sender]'] } }],
      [planted.hiddenId, { ...hidden, headers: { 'X-Private': ['[redacted by sender]', '[redacted by sender]'] } }],
      [planted.hiddenId, open],
      [planted.hiddenId, { ...hidden, hidden: { body: true } }],
      [planted.deliveryId, { ...plain, headers: { 'X-Other': ['[hidden]'] } }],
      [planted.deliveryId, { ...plain, body: 'Authorization was [hidden]' }],
    ];
    for (const [id, payload] of refused) {
      const before = await keptPayload(planted, id);
      expect(await edit(url, id, payload), JSON.stringify(payload)).toMatchObject({
        code: 'INVALID_OPTIONS',
        detail: expect.stringMatching(/write/),
      });
      expect(await keptPayload(planted, id)).toEqual(before);
    }
  });

  test('does not send what is hidden to another URL, by none of the fields that say where it goes [X.9]', async ({
    postgres,
  }) => {
    const { planted, url } = await opened(postgres);
    const elsewhere = 'https://elsewhere.example/';
    const callback = { url: elsewhere, method: 'POST', retries: 0, headers: {} };
    for (const id of [planted.deliveryId, planted.hiddenId]) {
      const shown = await shownPayload(url, id);
      for (const moved of [
        { url: elsewhere },
        { callback },
        { failureCallback: callback },
        { signedBy: 'endpoint', endpointId: planted.endpointId },
      ]) {
        expect(await edit(url, id, { ...shown, ...moved }), JSON.stringify(moved)).toMatchObject({
          code: 'INVALID_OPTIONS',
          detail: expect.stringContaining('goes nowhere else'),
        });
      }
      // With new values in the place of all that is hidden it goes where it is told to.
      const { callback: _c, failureCallback: _f, hidden: _h, ...rest } = shown;
      const whole = { ...rest, url: elsewhere, headers: { Authorization: ['mine'] }, body: 'mine' };
      expect(await edit(url, id, whole)).toBeUndefined();
      expect(foundIn(JSON.stringify(await keptPayload(planted, id)), ALWAYS)).toEqual([]);
      await planted.store.database.sql(
        `update $S.delivery set state = 2, failed_at = now(), error = '{}', due_at = null`,
      );
    }
  });

  test('of an endpoint keeps hidden headers only where they go now, and stores no placeholder [X.8] [X.9]', async ({
    postgres,
  }) => {
    const { planted, url } = await opened(postgres);
    const { endpoints } = planted.store;
    const path = `${url}/api/delivery/endpoints/${planted.endpointId}`;
    const before = await endpoints.get(planted.endpointId);
    const shown = (await (await fetch(path, { headers: as('admin') })).json()) as {
      item: { url: string; headers: Record<string, string> };
    };
    const update = async (body: object): Promise<{ kind: string; detail?: string }> =>
      (await (await fetch(`${path}/update`, change(body, as('admin')))).json()) as { kind: string; detail?: string };
    expect(await update({ url: shown.item.url, headers: shown.item.headers, timeoutMs: 5_000 })).toMatchObject({
      kind: 'done',
    });
    expect(await endpoints.get(planted.endpointId)).toMatchObject({ url: before?.url, headers: before?.headers });
    const elsewhere = 'https://elsewhere.example/';
    for (const body of [
      { url: elsewhere },
      { url: elsewhere, headers: shown.item.headers },
      { headers: { 'x-other': '[hidden]' } },
      { url: 'https://hooks.example/in?key=[hidden]&x=1' },
    ]) {
      expect(await update(body), JSON.stringify(body)).toMatchObject({ code: 'INVALID' });
    }
    expect(await endpoints.get(planted.endpointId)).toMatchObject({ url: before?.url, headers: before?.headers });
    expect(await update({ url: elsewhere, headers: { 'x-api-key': 'new' } })).toMatchObject({ kind: 'done' });
    expect(await endpoints.get(planted.endpointId)).toMatchObject({ url: elsewhere, headers: { 'x-api-key': 'new' } });
    const made = change({ url: elsewhere, headers: { 'x-api-key': '[hidden]' } }, as('admin'));
    expect((await fetch(`${url}/api/delivery/endpoints`, made)).status).toBe(400);
  });
});
