import { expect, onTestFinished } from 'vitest';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { needs } from '../support/needs.ts';
import { forgetFlows } from '../../src/postgres/delivery/forget-old.ts';
import { sqlRunner } from '../../src/postgres/sql-runner.ts';
import { openDeliveries, to } from './delivery-database.ts';

const test = needs('postgres');

test('a queue counts what is not done in it, of all the messages that stand in line [X.8]', async ({ postgres }) => {
  const { queues, publishing } = await openDeliveries(postgres);
  const at = new Date(Date.now() + 60_000);
  await queues.upsert('idle', { parallelism: 5 });
  await publishing.publish([
    to('https://a.example/', { queue: 'mail' }),
    to('https://b.example/', { queue: 'mail' }, { notBefore: at }),
    to('https://c.example/', { queue: 'other' }),
    to('https://c.example/'),
  ]);
  expect(await queues.get('mail')).toMatchObject({ name: 'mail', parallelism: 1, isPaused: false, lag: 2 });
  await queues.upsert('mail', { isPaused: true });
  await queues.upsert('mail', { parallelism: 3 });
  expect(await queues.list()).toMatchObject([
    { name: 'idle', parallelism: 5, lag: 0 },
    { name: 'mail', parallelism: 3, isPaused: true, lag: 2, createdAt: expect.any(Date) },
    { name: 'other', lag: 1 },
  ]);
  expect(await queues.delete('mail')).toBe(true);
  expect(await queues.delete('mail')).toBe(false);
  expect(await queues.get('mail')).toBeUndefined();
});

test('the last message says what is allowed under its key, but for what is pinned [X.8]', async ({ postgres }) => {
  const { flowControls, publishing } = await openDeliveries(postgres);
  const publish = (flow: object | undefined): Promise<unknown> =>
    publishing.publish([to('https://a.example/', { flowKey: 'ann' }, flow === undefined ? {} : { flow })]);
  await publish({ parallelism: 2, rate: 10, periodMs: 60_000 });
  await publish(undefined);
  expect(await flowControls.get('ann')).toMatchObject({
    parallelism: 2,
    rate: 10,
    periodMs: 60_000,
    waiting: 2,
    active: 0,
    started: 0,
  });
  await publish({ parallelism: 3 });
  expect(await flowControls.get('ann')).toMatchObject({ parallelism: 3, rate: undefined, periodMs: undefined });
  await flowControls.pin('ann', { parallelism: 7 });
  await publish({ parallelism: 1, rate: 5 });
  expect(await flowControls.get('ann')).toMatchObject({
    parallelism: 7,
    rate: 5,
    periodMs: 1_000,
    isParallelismPinned: true,
    isRatePinned: false,
  });
  await flowControls.unpin('ann', { parallelism: true });
  await publish({ parallelism: 1, rate: 5 });
  await flowControls.pause('ann');
  await flowControls.pin('bob', { rate: 1 });
  expect(await flowControls.list()).toMatchObject([
    { key: 'ann', parallelism: 1, isPaused: true, waiting: 5 },
    { key: 'bob', rate: 1, isRatePinned: true, waiting: 0 },
  ]);
  await flowControls.resume('ann');
  expect(await flowControls.list('nn')).toMatchObject([{ key: 'ann', isPaused: false }]);
  expect(await flowControls.get('nobody')).toBeUndefined();
});

test('so many start under a key within a period, over all who ask at once; the others are told when [X.8]', async ({
  postgres,
}) => {
  const { flowControls, sender, database } = await openDeliveries(postgres);
  await flowControls.pin('ann', { rate: 2, periodMs: 600_000 });
  await flowControls.pin('bob', { parallelism: 1 });
  const waits = await Promise.all(
    ['ann', 'ann', 'bob', 'ann', 'ann', 'ann', 'nobody'].map((key) => sender.takeRate(key)),
  );
  const [first, second, bob, third, fourth, fifth, nobody] = waits.map(({ waitMs }) => waitMs);
  expect([first, second, bob, nobody]).toEqual([undefined, undefined, undefined, undefined]);
  expect(third).toBeGreaterThan(500_000);
  expect(third).toBeLessThanOrEqual(600_000);
  expect(fourth).toBe(third);
  expect(fifth).toBe(Number(third) + 600_000);
  expect(await flowControls.get('ann')).toMatchObject({ started: 2, periodStart: expect.any(Date) });
  expect((await sender.takeRate('ann')).waitMs).toBeGreaterThan(500_000);
  await database.sql(`update $S.http_flow set period_start = now() - interval '10 minutes' where key = 'ann'`);
  expect(await sender.takeRate('ann')).toEqual({ waitMs: undefined });
  expect(await flowControls.get('ann')).toMatchObject({ started: 1 });
  await flowControls.resetRate('ann');
  expect(await flowControls.get('ann')).toMatchObject({ started: 0, periodStart: undefined });
});

test('what a line may do is known once it is asked for, and followed from then on [X.8]', async ({ postgres }) => {
  const here = await openDeliveries(postgres);
  const { sender } = here;
  const told: string[] = [];
  sender.onChange((line) => told.push(line));
  await sender.open();
  await here.publishOne(to('https://a.example/', { queue: 'mail' }));
  expect([sender.queue('mail'), sender.flow('ann')]).toEqual([undefined, undefined]);
  await expect.poll(() => told.toSorted()).toEqual(['flow:ann', 'queue:mail']);
  expect(sender.queue('mail')).toEqual({ parallelism: 1, isPaused: false });
  expect(sender.flow('ann')).toEqual({ isPaused: false });
  // Here at once, elsewhere at the next look.
  await here.queues.upsert('mail', { parallelism: 4 });
  expect(sender.queue('mail')).toEqual({ parallelism: 4, isPaused: false });
  await here.publishOne(to('https://a.example/', { flowKey: 'ann' }, { flow: { rate: 3, periodMs: 5_000 } }));
  await expect.poll(() => sender.flow('ann')).toEqual({ isPaused: false, rate: 3, periodMs: 5_000 });
  expect(new Set(told.slice(2))).toEqual(new Set(['queue:mail', 'flow:ann']));
  await sender.close();
  await sender.close();
});

test('a line that could not be asked about is asked about again, and told then; one that is deleted is followed too [X.8]', async ({
  postgres,
}) => {
  const { database, queues, publishOne } = await openDeliveries(postgres);
  const { pool, schema } = database;
  let failures = 2;
  const failing = Object.assign(Object.create(pool) as typeof pool, {
    query: (text: string, params: unknown[]) => {
      if (!text.includes('q.name in') || failures === 0) return pool.query(text, params);
      failures -= 1;
      return Promise.reject(new Error('away'));
    },
  });
  // It looks every 20 ms, and at all that it keeps at each tenth look.
  const effects = {
    ...systemEffects,
    setTimer: (wake: () => void, ms: number) => systemEffects.setTimer(wake, ms / 50),
  };
  const { sender } = postgresDelivery({ pool: failing, schema, effects });
  onTestFinished(() => sender.close());
  const told: string[] = [];
  sender.onChange((line) => told.push(line));
  await sender.open();
  expect(sender.queue('mail')).toBeUndefined();
  await expect.poll(() => told).toEqual(['queue:mail']);
  expect([failures, sender.queue('mail')]).toEqual([0, { parallelism: 1, isPaused: false }]);
  await publishOne(to('https://a.example/', { queue: 'mail' }));
  await queues.upsert('mail', { isPaused: true });
  await expect.poll(() => sender.queue('mail')).toEqual({ parallelism: 1, isPaused: true });
  await queues.delete('mail');
  await expect.poll(() => sender.queue('mail')).toEqual({ parallelism: 1, isPaused: false });
});

test('a line that has been paused for long is told of when it goes on, here and elsewhere [X.8]', async ({
  postgres,
}) => {
  let aheadMs = 0;
  const monoMs = (): number => systemEffects.monoMs() + aheadMs;
  const here = await openDeliveries(postgres, { effects: { ...systemEffects, monoMs } });
  const { sender, queues, flowControls } = here;
  await queues.upsert('mail', { isPaused: true });
  await flowControls.pin('ann', { rate: 1 });
  const told: string[] = [];
  sender.onChange((line) => told.push(line));
  await sender.open();
  void [sender.queue('mail'), sender.flow('ann')];
  await expect.poll(() => told.toSorted()).toEqual(['flow:ann', 'queue:mail']);
  // Nobody asks about it meanwhile: there is nothing to start.
  aheadMs = 3_600_000;
  await here.publishOne(to('https://a.example/', { flowKey: 'bob' }, { flow: { rate: 3 } }));
  await expect.poll(() => told).toContain('flow:bob');
  told.length = 0;
  await here.database.sql(`update $S.http_queue set is_paused = false, tx = pg_current_xact_id()`);
  await expect.poll(() => told).toContain('queue:mail');
  await flowControls.resetRate('ann');
  expect(told).toContain('flow:ann');
});

test('Keys of flow control are forgotten when nothing goes on under them, and keep their limits while something does [X.8]', async ({
  postgres,
}) => {
  const { flowControls, publishing, database } = await openDeliveries(postgres);
  const publish = (flowKey: string, flow?: object): Promise<unknown> =>
    publishing.publish([to('https://a.example/', { flowKey }, flow === undefined ? {} : { flow })]);
  for (const key of ['waits', 'used', 'gone', 'paused', 'pinned']) await publish(key, { parallelism: 3 });
  await flowControls.pause('paused');
  await flowControls.pin('pinned', { rate: 1 });
  await database.sql(`delete from $S.delivery where key <> 'flow:waits'`);
  await database.sql(`update $S.http_flow set used_at = now() - interval '15 days'`);
  // Without limits of its own: those that were given last are meant.
  await publish('used');
  await database.sql(`delete from $S.delivery where key = 'flow:used'`);
  await forgetFlows(sqlRunner(database.pool), `"${database.schema}"`, 14 * 86_400_000);
  expect((await flowControls.list()).map(({ key, parallelism }) => `${key} ${parallelism}`)).toEqual([
    'paused 3',
    'pinned 3',
    'used 3',
    'waits 3',
  ]);
});

test('Why a delivery waits is said of its line: open, paused, or only busy [X.6] [X.10]', async ({ postgres }) => {
  const { publishOne, publishing, flowControls, queues, destinations, database } = await openDeliveries(postgres);
  await database.worker('host 1', [1]);
  const [first = ''] = await publishOne(to('https://a.example/'));
  const [second = ''] = await publishOne(to('https://a.example/'));
  const [mail = ''] = await publishOne(to('https://b.example/', { queue: 'mails' }));
  const [next = ''] = await publishOne(to('https://b.example/', { queue: 'mails' }));
  await publishing.publish([to('https://b.example/', { flowKey: 'ann' }, { flow: { parallelism: 2 } })]);
  const [flowing = ''] = await publishOne(to('https://b.example/', { flowKey: 'ann' }));
  await database.sql(
    `insert into $S.lease (unit, owner) select d.unit, w.id from $S.delivery d, $S.worker w on conflict do nothing`,
  );
  const why = async (id: string): Promise<unknown> => {
    const answer = await database.operator.why(id);
    return answer.kind === 'why' ? answer.deliveries[0]?.reason : answer;
  };
  const queued = { kind: 'queued' };
  // Several go to a destination at once; a queue is one after the other unless it says otherwise.
  expect([await why(first), await why(second), await why(flowing)]).toMatchObject([queued, queued, queued]);
  expect([await why(mail), await why(next)]).toMatchObject([queued, { kind: 'behind', messageId: mail }]);
  await queues.upsert('mails', { parallelism: 2 });
  expect(await why(next)).toMatchObject(queued);
  await destinations.open('https://a.example', { actor: 'ann' });
  await queues.upsert('mails', { isPaused: true });
  await flowControls.pause('ann');
  expect([await why(second), await why(mail), await why(flowing)]).toEqual([
    { kind: 'line-held', line: 'to:https://a.example', because: 'breaker', probeAt: undefined },
    { kind: 'line-held', line: 'queue:mails', because: 'paused', probeAt: undefined },
    { kind: 'line-held', line: 'flow:ann', because: 'paused', probeAt: undefined },
  ]);
});
