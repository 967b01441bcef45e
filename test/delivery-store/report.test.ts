import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { attempt, openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

const callback = to('https://caller.example/done', { body: '{}' });
const told = { ...callback, to: { kind: 'url', url: 'https://caller.example/done' } } as const;

test('an attempt is written once, and its callbacks are published with it and never again [X.8]', async ({
  postgres,
}) => {
  const { database, sender, publishOne } = await openDeliveries(postgres);
  const [id = ''] = await publishOne(to('https://shop.example/orders'));
  const failed = {
    ...attempt(id, {
      state: 'ERROR',
      error: 'a\u0000b',
      responseStatus: 503,
      responseHeaders: { 'Retry-After': ['1'] },
      responseBody: new Uint8Array([0, 255, 7]),
      nextAt: new Date(Date.now() + 1_000),
    }),
    callbacks: [told, { ...told, notBefore: new Date(0) }],
  };
  const done = attempt(id, { attempt: 2, responseStatus: 200 });
  await database.sql(`update $S.meta set is_full = true`);
  await sender.report([failed, done]);
  await sender.report([
    { ...failed, error: 'again' },
    { ...done, callbacks: [told] },
  ]);
  await sender.report([]);
  const rows = await database.sql(
    `select attempt, state, status, error, headers, body from $S.http_event where message_id = $1 order by attempt`,
    [id],
  );
  expect(rows).toMatchObject([
    { attempt: 0, state: 0 },
    {
      attempt: 1,
      state: 2,
      status: 503,
      error: 'ab',
      headers: { 'Retry-After': ['1'] },
      body: Buffer.from([0, 255, 7]),
    },
    { attempt: 2, state: 1, status: 200 },
  ]);
  const callbacks = await database.sql(
    `select idempotency_key, causation_id, key from $S.delivery where id <> $1 order by seq`,
    [id],
  );
  expect(callbacks).toEqual([
    { idempotency_key: `callback:${id}:0:1`, causation_id: id, key: 'to:https://caller.example' },
    { idempotency_key: `callback:${id}:0:1:2`, causation_id: id, key: 'to:https://caller.example' },
  ]);
});

test('the breaker of a destination is changed only by who has seen it as it is, and a lost probe is due again [X.10]', async ({
  postgres,
}) => {
  const { database, sender, destinations, publishOne } = await openDeliveries(postgres);
  const destination = 'https://shop.example';
  const [id = ''] = await publishOne(to('https://shop.example/orders'));
  await sender.report([attempt(id, { state: 'ERROR', responseStatus: 503 })]);
  expect(await sender.destinations()).toEqual([]);
  const open = await sender.changeDestination({ destination, epoch: 0, to: 'open', probeInMs: 60_000, error: 'away' });
  expect(open).toMatchObject({ state: 'open', epoch: 1, isHeld: false });
  const late = await sender.changeDestination({ destination, epoch: 0, to: 'open', probeInMs: 1 });
  expect(late).toMatchObject({ state: 'open', epoch: 1 });
  expect(late.probeInMs).toBeGreaterThan(1_000);
  expect(await destinations.list()).toMatchObject([
    { destination, breaker: 'open', failures: 1, lastError: 'away', waiting: 1, lastStatus: 503, isHeld: false },
  ]);
  expect(await sender.changeDestination({ destination, epoch: 1, to: 'probing' })).toMatchObject({
    state: 'probing',
    epoch: 2,
  });
  expect(await sender.destinations()).toMatchObject([{ destination, state: 'probing' }]);
  await database.sql(`update $S.http_destination set probe_at = now()`);
  expect(await sender.destinations()).toMatchObject([{ destination, state: 'open', probeInMs: 0 }]);
  expect(await sender.changeDestination({ destination, epoch: 2, to: 'closed' })).toMatchObject({
    state: 'closed',
    epoch: 3,
  });
  expect(await sender.destinations()).toMatchObject([{ destination, state: 'closed' }]);
  expect(await destinations.list()).toMatchObject([{ breaker: 'closed', failures: 0 }]);
});

test('a destination that is held open by hand is opened by no probe, and both hands are in the audit [X.10]', async ({
  postgres,
}) => {
  const { database, sender, destinations } = await openDeliveries(postgres);
  const destination = 'https://shop.example';
  await destinations.open(destination, { actor: 'ann', reason: 'they move' });
  await destinations.open(destination, { actor: 'bob' });
  const [sight] = await sender.destinations();
  expect(sight).toMatchObject({ destination, state: 'open', isHeld: true, epoch: 1, probeInMs: undefined });
  expect(await sender.changeDestination({ destination, epoch: 1, to: 'closed' })).toMatchObject({
    isHeld: true,
    epoch: 1,
  });
  expect(await destinations.close(destination, { actor: 'bob' })).toBe(true);
  expect(await destinations.close(destination, { actor: 'bob' })).toBe(false);
  expect(await sender.destinations()).toMatchObject([{ state: 'closed', isHeld: false, epoch: 2 }]);
  expect(await database.sql(`select actor, verb, reason, details from $S.audit order by id`)).toEqual([
    { actor: 'ann', verb: 'open-breaker', reason: 'they move', details: { destination } },
    { actor: 'bob', verb: 'close-breaker', reason: null, details: { destination } },
  ]);
});
