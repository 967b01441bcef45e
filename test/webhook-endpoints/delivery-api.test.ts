import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect } from 'vitest';

import { ROLES, mayAs } from '../../src/server/route.ts';
import { ALL_ROUTES, ROUTES } from '../../src/server/routes/all-routes.ts';
import { openDeliveries, to } from '../delivery-store/delivery-database.ts';
import { type ApiDocument, checkedFetch } from '../server/checked-fetch.ts';
import { as, change, serveHere, TOKENS } from '../server/serving.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');
const OURS = ALL_ROUTES.filter((route) => !ROUTES.includes(route));
const NOWHERE = '00000000-0000-7000-8000-000000000000';

interface Listed {
  readonly items: readonly { readonly dlqId: string }[];
}

describe('the API of deliveries', () => {
  test('shows and changes everything of deliveries and endpoints, each answer as the OpenAPI document says [X.8] [X.9]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { database } = deliveries;
    const { url } = await serveHere({ operator: database.operator, deliveries, tokens: TOKENS });
    const document = (await (await fetch(`${url}/api/openapi.json`, { headers: as('viewer') })).json()) as ApiDocument;
    expect(await new Validator().validate(document as never)).toMatchObject({ valid: true });
    const answered = new Set<string>();
    const ask = checkedFetch(document, '', answered);
    const read = async <T>(path: string, status = 200): Promise<T> => {
      const response = await ask(new URL(`${url}/api/delivery/${path}`), { headers: as('viewer'), method: 'GET' });
      expect(response.status, path).toBe(status);
      return (await response.json()) as T;
    };
    const write = async <T>(path: string, body: object, status = 200): Promise<T> => {
      const response = await ask(new URL(`${url}/api/delivery/${path}`), change(body, as('admin')));
      expect(response.status, `${path} ${await response.clone().text()}`).toBe(status);
      return (await response.json()) as T;
    };

    // Messages: what is secret by its name is shown to nobody.
    const [first = ''] = await deliveries.publishOne(
      to('https://shop.example/orders', {
        headers: { Authorization: ['Bearer 123'], 'X-Tenant': ['7'] },
        body: '{"a":1}',
        callback: { url: 'https://shop.example/done', method: 'POST', retries: 1, headers: { Cookie: ['c'] } },
        labels: ['monthly'],
      }),
    );
    expect(await read('messages?label=monthly&limit=5')).toMatchObject({
      items: [
        {
          messageId: first,
          request: { body: '{"a":1}', headers: { Authorization: ['[hidden]'], 'X-Tenant': ['7'] } },
        },
      ],
    });
    expect(await read(`messages/${first}`)).toMatchObject({
      item: { request: { callback: { headers: { Cookie: ['[hidden]'] } } } },
    });
    await read(`messages/${NOWHERE}`, 404);
    expect(await write(`messages/${first}/cancel`, { reason: 'not needed' })).toEqual({ kind: 'done', count: 1 });
    await write(`messages/${first}/cancel`, {}, 404);
    expect(await read(`log?messageId=${first}&state=CANCELED`)).toMatchObject({ items: [{ state: 'CANCELED' }] });

    // Queues, keys, destinations, schedules.
    await deliveries.queues.upsert('mail', { parallelism: 2 });
    await write('queues/pause', { name: 'mail' });
    await write('queues/parallelism', { name: 'mail', parallelism: 5 });
    expect(await read('queues')).toMatchObject([{ name: 'mail', isPaused: true, parallelism: 5 }]);
    await write('queues/resume', { name: 'mail' });
    await write('queues/resume', { name: 'nothing' }, 404);
    await deliveries.urlGroups.addEndpoints('all', [{ url: 'https://a.example/' }]);
    expect(await read('url-groups')).toMatchObject([{ name: 'all' }]);
    await write('flow-controls/pin', { key: 'tenant-1', rate: 5 });
    await write('flow-controls/unpin', { key: 'tenant-1' });
    for (const verb of ['pause', 'resume', 'reset']) await write(`flow-controls/${verb}`, { key: 'tenant-1' });
    expect(await read('flow-controls?search=tenant')).toMatchObject([{ key: 'tenant-1', isRatePinned: false }]);
    await write('destinations/open', { destination: 'https://shop.example', reason: 'they asked' });
    expect(await read('destinations')).toMatchObject([{ destination: 'https://shop.example', breaker: 'open' }]);
    await write('destinations/close', { destination: 'https://shop.example' });
    await write('destinations/close', { destination: 'https://shop.example' }, 404);
    await deliveries.schedules.put({
      scheduleId: 'nightly',
      cron: '0 3 * * *',
      to: { kind: 'url', url: 'https://shop.example/nightly' },
      delivery: { method: 'POST', retries: 0, headers: { 'X-Api-Key': ['k'] } },
    });
    expect(await read('schedules')).toMatchObject([{ delivery: { headers: { 'X-Api-Key': ['[hidden]'] } } }]);
    await write('schedules/nightly/pause', {});
    expect(await read('schedules/nightly')).toMatchObject({ item: { isPaused: true } });
    await write('schedules/nightly/resume', {});
    await write('schedules/nightly/delete', {});
    await read('schedules/nightly', 404);

    // Endpoints.
    const made = await write<{ endpoint: { id: string } }>('endpoints', {
      url: 'https://hooks.example/in',
      eventTypes: ['order.*'],
      headers: { 'x-api-key': 'k', 'x-tenant': '7' },
    });
    const { id } = made.endpoint;
    expect(await write('endpoints', { url: 'ftp://hooks.example' }, 400)).toMatchObject({
      code: 'INVALID',
      detail: expect.stringContaining('write https://'),
    });
    expect(await write(`endpoints/${id}/update`, { timeoutMs: 5_000, eventTypes: null })).toMatchObject({
      endpoint: { timeoutMs: 5_000, eventTypes: [], headers: { 'x-api-key': '[hidden]', 'x-tenant': '7' } },
    });
    expect(await read('endpoints')).toMatchObject([{ id, state: 'enabled' }]);
    expect(await read(`endpoints/${id}`)).toMatchObject({ item: { id } });
    await write(`endpoints/${id}/disable`, { reason: 'they move' });
    expect(await write(`endpoints/${id}/test`, {}, 404)).toMatchObject({ code: 'NOT_FOUND' });
    expect(await write(`endpoints/${id}/enable`, {})).toMatchObject({ endpoint: { state: 'enabled' } });
    const tried = await write<{ messageId: string }>(`endpoints/${id}/test`, {});
    expect(await read(`messages/${tried.messageId}`)).toMatchObject({
      item: { request: { endpointId: id, eventType: 'test.ping' } },
    });
    const { secret } = await write<{ secret: string }>(`endpoints/${id}/rotate`, { graceHours: 1 });
    const secrets = new URL(`${url}/api/delivery/endpoints/${id}/secrets`);
    expect((await fetch(secrets, { headers: as('operator') })).status).toBe(403);
    expect(await (await ask(secrets, { headers: as('admin') })).json()).toMatchObject({
      item: [secret, expect.any(String)],
    });
    const sent = await write<{ messageIds: string[] }>('events', { type: 'order.paid', data: { id: 7 } });
    const [message = ''] = sent.messageIds;
    await write(`endpoints/${id}/resend`, { messageId: message });
    await write(`endpoints/${id}/resend`, { messageId: first }, 404);

    // Dead deliveries.
    await database.sql(`update $S.delivery set state = 2, failed_at = now() where id = $1`, [message]);
    expect(await write(`endpoints/${id}/recover`, { since: '2020-01-01T00:00:00Z' })).toEqual({
      kind: 'done',
      count: 1,
    });
    await database.sql(`update $S.delivery set state = 2, due_at = null, failed_at = now() where id = $1`, [message]);
    const [dead] = (await read<Listed>(`dead?flowKey=endpoint:${id}`)).items;
    expect(await read(`dead/${dead?.dlqId}`)).toMatchObject({ kind: 'found' });
    expect(await write('dead/replay', { dlqIds: [dead?.dlqId] })).toEqual({ kind: 'done', count: 1 });
    await write('dead/discard', { dlqIds: [`${message}-9`], reason: 'old' }, 404);
    await database.sql(`update $S.delivery set state = 2, due_at = null, failed_at = now() where id = $1`, [message]);
    const [again] = (await read<Listed>('dead')).items;
    expect(await write('dead/discard', { dlqIds: [again?.dlqId], reason: 'old' })).toEqual({ kind: 'done', count: 1 });
    await write(`endpoints/${id}/delete`, {});
    await read(`endpoints/${id}`, 404);

    expect(OURS.map((route) => route.id).filter((one) => !answered.has(one))).toEqual([]);
    const verbs = (await database.operator.audit({ actor: 'ada', limit: 100 })).items.map(({ verb }) => verb);
    expect(new Set(verbs)).toEqual(
      new Set([
        'cancel',
        'change-queue',
        'change-flow',
        'change-schedule',
        'open-breaker',
        'close-breaker',
        'replay',
        'discard',
        'create-endpoint',
        'update-endpoint',
        'enable-endpoint',
        'disable-endpoint',
        'read-secrets',
        'send-event',
        'test-endpoint',
        'rotate-secret',
        'delete-endpoint',
      ]),
    );
  });

  test('lets each role do with deliveries what the table of routes says, and hides bodies with payloads [X.8] [X.9]', async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { operator } = deliveries.database;
    const { url } = await serveHere({ operator, deliveries, tokens: TOKENS, redact: ['card'], writesPerMinute: 1_000 });
    for (const route of OURS) {
      const path = `${url}/${route.path.replace(':id', NOWHERE)}`;
      for (const role of ROLES) {
        // Whoever may is told that there is nothing to change, or what is missing.
        const init = route.method === 'GET' ? { headers: as(role) } : change({ nothing: true }, as(role));
        const { status } = await fetch(path, init);
        if (mayAs(role, route.role)) expect([200, 400, 404], `${role} ${route.id}`).toContain(status);
        else expect(status, `${role} ${route.id}`).toBe(403);
      }
    }
    await deliveries.publishOne(to('https://shop.example/orders', { body: '{"card":1}' }));
    const [seen, hidden] = await Promise.all(
      (['admin', 'viewer'] as const).map(async (role) =>
        (await fetch(`${url}/api/delivery/messages`, { headers: as(role) })).text(),
      ),
    );
    expect([seen?.includes('{\\"card\\":1}'), hidden?.includes('card')]).toEqual([true, false]);
    const without = await serveHere({ operator, tokens: TOKENS });
    expect((await fetch(`${without.url}/api/delivery/messages`, { headers: as('admin') })).status).toBe(404);
  });
});
