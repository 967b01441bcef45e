import { expect, onTestFinished, test as testWithoutServer } from 'vitest';
import { event, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { mongoInbox } from '../../src/mongodb/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { type Alert, alertOnDead, logRelay } from '../../src/telemetry/index.ts';
import { localBroker, memoryStore } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { keptLog } from '../http/kept-log.ts';
import { openDb, orderPlaced } from '../mongodb/outbox-stage.ts';
import { testService } from '../relay/service.ts';
import { needs } from '../support/needs.ts';

const placed = event<{ n: number }>('order.placed', { key: () => 'a' });

const refuse = (): never => {
  throw new TerminalHandlerError('no');
};

/** What alerts and log lines call the dead letters that a relay makes. */
function watched() {
  const alerts: Alert[] = [];
  const { logger, lines } = keptLog();
  const alerted = (): string[] =>
    alerts.flatMap((alert) => (alert.kind === 'dead' || alert.kind === 'parked' ? [alert.dlqId] : [])).toSorted();
  const logged = (): unknown[] => lines.flatMap(({ fields: { dlqId } }) => dlqId ?? []).toSorted();
  return {
    alerted,
    logged,
    lines,
    observers: [alertOnDead({ sink: (alert) => alerts.push(alert) }), logRelay(logger)],
  };
}

needs('postgres')(
  'alerts and log lines name a dead letter as dlq:show takes it, each handler its own, and those set aside [S0.12] [S4.8]',
  async ({ postgres }) => {
    const { hf, start, inTransaction, pool, schema } = await testService(postgres);
    for (const name of ['charge', 'mail', 'ship']) hf.on(placed, name, refuse, { onDead: 'park' });
    const { alerted, logged, observers } = watched();
    await start({ observers });
    await inTransaction(async (tx) => {
      await hf.send(tx, placed, { n: 1 });
      await hf.send(tx, placed, { n: 2 });
    });
    const operator = postgresOperator({ pool, schema });
    const dead = async (): Promise<string[]> => (await operator.deadLetters()).items.map(({ id }) => id).toSorted();
    await expect.poll(async () => (await dead()).length).toBe(6);
    const ids = await dead();
    await expect.poll(() => logged().length).toBe(6);
    expect([logged(), alerted()]).toEqual([ids, ids]);
    for (const id of alerted()) expect(await operator.show(id)).toMatchObject({ kind: 'found' });
  },
);

testWithoutServer('a relay over the store in memory names its dead letters the same way [S0.12]', async () => {
  const store = memoryStore();
  const hf = holdfast({ service: 'orders', store });
  for (const name of ['charge', 'mail']) hf.on(placed, name, refuse);
  const { alerted, logged, observers } = watched();
  const tx = store.begin();
  const { id } = await hf.send(tx, placed, { n: 1 });
  tx.commit();
  const relay = await hf.start({ observers });
  onTestFinished(() => relay.stop());
  await expect.poll(() => logged().length).toBe(2);
  const ids = [`${id}:1`, `${id}:2`];
  expect([logged(), alerted()]).toEqual([ids, ids]);
});

needs('mongodb')(
  'an inbox in MongoDB names a dead letter as its replay takes it, and says how many attempts there are [S0.12] [S1.7]',
  async ({ mongodb }) => {
    const { db, service } = openDb(mongodb);
    const broker = localBroker();
    const inbox = mongoInbox({ db, service });
    let isBroken = true;
    inbox.on(orderPlaced, () => void (isBroken && refuse()));
    const { alerted, logged, lines, observers } = watched();
    const running = await inbox.start({ transport: transportOf(broker), pollMs: 20, observers });
    onTestFinished(() => running.stop());
    const attributes = { specversion: '1.0', id: 'm1', source: 'shop', type: 'order.placed' };
    const body = Buffer.from(JSON.stringify({ orderId: 'a', n: 1 }));
    await broker.publish([{ type: 'order.placed', key: 'a', isDead: false, attributes, headers: {}, body }]);
    await expect.poll(alerted).toHaveLength(1);
    expect(logged()).toEqual(alerted());
    isBroken = false;
    expect(await inbox.dead.replay(alerted()[0] ?? '')).toBe(true);
    const handled = (): unknown => lines.find(({ message }) => message === 'message handled')?.fields;
    await expect.poll(handled).toMatchObject({ attempt: 1, maxAttempts: 7 });
  },
);
