import { expect } from 'vitest';
import type { DeliverySelection } from '../../src/delivery/delivery-messages.ts';
import { REDACTED_BY_SENDER as HIDDEN } from '../../src/delivery/delivery-request.ts';
import { needs } from '../support/needs.ts';
import { openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

test('a message is read with all it was published with, and of what is hidden nothing is shown [X.8]', async ({
  postgres,
}) => {
  const { messages, publishOne, database } = await openDeliveries(postgres);
  const notBefore = new Date(Date.now() + 60_000);
  const callback = { url: 'https://c.example/', method: 'POST', retries: 1, headers: { 'X-Key': ['k'] } } as const;
  const delivery = {
    body: 'geheim',
    headers: { Authorization: ['a', 'b'], Accept: ['*'] },
    labels: ['x', 'y'],
    callback,
  };
  const [id = ''] = await publishOne(
    to(
      'https://a.example/p',
      { ...delivery, flowKey: 'ann', hidden: { body: true, headers: ['authorization', 'x-key'] } },
      { notBefore, flow: { rate: 1 } },
    ),
  );
  const message = await messages.get(id);
  expect(message).toMatchObject({
    messageId: id,
    state: 'waiting',
    attempts: 0,
    notBefore,
    nextAt: notBefore,
    flow: { rate: 1, periodMs: 1_000 },
    request: {
      url: 'https://a.example/p',
      body: HIDDEN,
      headers: { Authorization: [HIDDEN, HIDDEN], Accept: ['*'] },
      callback: { headers: { 'X-Key': [HIDDEN] } },
      labels: ['x', 'y'],
    },
  });
  expect(message?.createdAt).toBeInstanceOf(Date);
  expect(await database.rows(id)).toMatchObject([
    { payload: { body: 'geheim', headers: { Authorization: ['a', 'b'] } } },
  ]);
  const [binary = ''] = await publishOne(
    to('https://a.example/', { bodyBase64: '/w==', hidden: { body: true, headers: true } }),
  );
  expect(await messages.get(binary)).toMatchObject({
    request: {
      body: HIDDEN,
    },
  });
  expect(await messages.get('nonsense')).toBeUndefined();
  expect(await messages.get('00000000-0000-7000-8000-000000000000')).toBeUndefined();
});

test('operators are shown no more than others, and an edit does not deliver what stands in the place of what was hidden [X.17]', async ({
  postgres,
}) => {
  const { database, publishOne, dead } = await openDeliveries(postgres);
  const { operator } = database;
  const hidden = { body: true, headers: ['authorization'] } as const;
  const headers = { Authorization: ['a', 'b'], Accept: ['x'] };
  const [id = ''] = await publishOne(to('https://a.example/', { body: 'geheim', headers, hidden }));
  await database.sql(`update $S.delivery set state = 2, failed_at = now(), error = '{}'`);
  const found = await operator.show(id);
  const payload = found.kind === 'found' ? (found.message.payload as Record<string, unknown>) : {};
  expect(payload).toMatchObject({
    body: HIDDEN,
    headers: { Authorization: [HIDDEN, HIDDEN], Accept: ['x'] },
  });
  const changed = { ...payload, retries: 9, headers: { Accept: ['y'], Authorization: ['new', HIDDEN] } };
  expect(await operator.edit(id, changed, { actor: 'ann' })).toMatchObject({ kind: 'edited', version: 1 });
  expect(await database.rows(id)).toMatchObject([
    { payload: { body: 'geheim', retries: 9, headers: { Authorization: ['new', 'b'], Accept: ['y'] } } },
  ]);
  expect(await operator.show(id)).toMatchObject({ message: { edits: [{ payload: { body: HIDDEN } }] } });
  await database.sql(`update $S.delivery set state = 2, due_at = null, holds = false, failed_at = now(), error = '{}'`);
  await operator.edit(id, { ...changed, body: 'open' }, { actor: 'ann' });
  expect(await database.rows(id)).toMatchObject([{ payload: { body: 'open' } }]);
  expect((await dead.list({}, { limit: 1 })).items).toEqual([]);
});

test('messages are selected by everything they were published with, in pages, the newest first [X.8]', async ({
  postgres,
}) => {
  const { messages, publishing, publishOne, database, urlGroups } = await openDeliveries(postgres);
  await urlGroups.addEndpoints('g', [{ url: 'https://group.example/' }]);
  const requests = [
    to('https://a.example:8443/orders/1?x=1', { labels: ['l1', 'l2'], callerIp: '10.0.0.1' }),
    to('https://A.example/', { queue: 'q' }),
    to('https://b.example/orders/1', { flowKey: 'f', scheduleId: 's' }),
    { ...to('x', { labels: ['l2'] }), to: { kind: 'group', name: 'g' } } as const,
  ];
  const ids: string[] = [];
  for (const request of requests) ids.push(...(await publishOne(request)));
  await database.delivery({ type: 'other', payload: { url: 'https://a.example/' } });
  const find = async (selection: Parameters<typeof messages.list>[0]): Promise<readonly number[]> =>
    (await messages.list(selection, { limit: 100 })).items.map(({ messageId }) => ids.indexOf(messageId));
  const expected: readonly (readonly [DeliverySelection, readonly number[]])[] = [
    [{}, [3, 2, 1, 0]],
    [{ url: 'https://b.example/orders/1' }, [2]],
    [{ host: 'a.example' }, [1, 0]],
    [{ host: 'a.example:8443' }, [0]],
    [{ path: '/orders/1' }, [2, 0]],
    [{ path: '/' }, [3, 1]],
    [{ queue: 'q' }, [1]],
    [{ flowKey: 'f', scheduleId: 's' }, [2]],
    [{ flowKey: 'f', queue: 'q' }, []],
    [{ group: 'g' }, [3]],
    [{ labels: ['l1', 'nobody'] }, [0]],
    [{ labels: ['l2'] }, [3, 0]],
    [{ callerIp: '10.0.0.1' }, [0]],
    [{ messageIds: [ids[1] ?? '', ids[2] ?? '', 'nonsense'] }, [2, 1]],
    [{ messageIds: [] }, []],
    [{ to: new Date(Date.now() - 60_000) }, []],
    [{ from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }, [3, 2, 1, 0]],
  ];
  for (const [selection, found] of expected) expect([selection, await find(selection)]).toEqual([selection, found]);
  const first = await messages.list({}, { limit: 3 });
  expect(first.items.map(({ messageId }) => ids.indexOf(messageId))).toEqual([3, 2, 1]);
  const second = await messages.list({}, { limit: 3, cursor: first.next });
  expect([second.items.length, second.next]).toEqual([1, undefined]);
  await expect(messages.list({}, { limit: 1, cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  await publishing.publish([to('https://a.example/')]);
  expect(await messages.cancel({ host: 'a.example' })).toBe(3);
  expect(await find({ state: 'cancelled' })).toEqual([-1, 1, 0]);
  expect(await find({ state: 'waiting' })).toEqual([3, 2]);
});

test('all that fit are cancelled, more than one step of them, and each has its line in the log [X.8]', async ({
  postgres,
}) => {
  const { messages, publishing, database, log } = await openDeliveries(postgres);
  const many = Array.from({ length: 1_100 }, (_, n) =>
    to('https://a.example/', { labels: [n % 11 === 0 ? 'keep' : 'drop'] }),
  );
  await publishing.publish(many);
  await database.dead({ type: 'http.delivery', payload: { url: 'https://a.example/', labels: ['drop'] } });
  expect(await messages.cancel({ labels: ['drop'] })).toBe(1_000);
  expect(await messages.cancel({ labels: ['drop'] })).toBe(0);
  const counts = `select (select count(*)::int from $S.delivery where state < 2) as open, (select count(*)::int from $S.http_event where state = 4) as logged,
    (select count(*)::int from $S.audit where verb = 'cancel') as audited`;
  expect(await database.sql(counts)).toEqual([{ open: 100, logged: 1_000, audited: 1_000 }]);
  expect((await log.list({ states: ['CANCELED'] }, { limit: 2 })).items).toMatchObject([
    { state: 'CANCELED' },
    { state: 'CANCELED' },
  ]);
  expect(await messages.cancel({})).toBe(100);
});
