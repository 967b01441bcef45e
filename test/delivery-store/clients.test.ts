import { PGlite } from '@electric-sql/pglite';
import postgresJs from 'postgres';
import { expect, onTestFinished } from 'vitest';
import { migrate, postgresDelivery, type SqlConnection } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { attempt, SECRET, to } from './delivery-database.ts';

const test = needs('postgres');
// One test at a time has it, on each database.
const schema = 'deliveries_of_clients';

/** Everything once, through one client. */
async function checkClient(pool: SqlConnection, query: (text: string) => Promise<unknown>): Promise<void> {
  const store = postgresDelivery({ pool, schema, secret: SECRET });
  const { publishing, sender, messages, dead, log, queues, flowControls, urlGroups, destinations, tokens } = store;
  onTestFinished(() => sender.close());
  await sender.open();
  await urlGroups.addEndpoints('g', [{ name: 'ü"\\', url: 'https://g.example/' }]);
  const outcomes = await publishing.publish([
    to('https://a.example/', { body: 'ü"\\', labels: ['l'] }, { deduplication: { id: '1' } }),
    to('https://a.example/', {}, { deduplication: { id: '1' }, notBefore: new Date(Date.now() + 60_000) }),
    { ...to('x', { flowKey: 'f' }), to: { kind: 'group', name: 'g' }, flow: { rate: 1, periodMs: 60_000 } },
    to('https://b.example/', { queue: 'q' }, { notBefore: new Date(Date.now() + 60_000) }),
  ]);
  expect(outcomes.map((one) => one.kind === 'published' && one.messages[0]?.isDuplicate)).toEqual([
    false,
    true,
    false,
    false,
  ]);
  const [id = ''] = outcomes.map((one) => (one.kind === 'published' ? (one.messages[0]?.messageId ?? '') : ''));
  const callbacks = [{ ...to('x'), to: { kind: 'url', url: 'https://c.example/' } }] as const;
  await sender.report([
    { ...attempt(id, { state: 'FAILED', responseStatus: 400, responseBody: Buffer.from([255]) }), callbacks },
  ]);
  expect(await messages.get(id)).toMatchObject({ request: { body: 'ü"\\' }, createdAt: expect.any(Date), attempts: 0 });
  expect(await queues.list()).toMatchObject([{ name: 'q', lag: 1 }]);
  expect([await sender.takeRate('f'), (await sender.takeRate('f')).waitMs]).toEqual([
    { waitMs: undefined },
    expect.any(Number),
  ]);
  expect(await flowControls.get('f')).toMatchObject({ rate: 1, started: 1, waiting: 1 });
  await expect.poll(() => sender.queue('q')).toEqual({ parallelism: 1, isPaused: false });
  expect(await messages.cancel({ queue: 'q' })).toBe(1);
  await query(`update "${schema}".delivery set state = 2, failed_at = now(), error = '{}' where id = '${id}'`);
  expect(await dead.list({ responseStatus: 400 }, { limit: 1 })).toMatchObject({
    items: [{ dlqId: `${id}-0`, responseBodyBase64: '/w==' }],
  });
  expect(await dead.discard({ labels: ['l'] }, { limit: 1 })).toMatchObject({ count: 1 });
  expect((await log.list({ states: ['CANCELED', 'FAILED'] }, { limit: 9 })).items).toHaveLength(2);
  expect((await messages.list({ state: 'waiting' }, { limit: 9 })).items).toHaveLength(2);
  await destinations.open('https://a.example', { actor: 'ann' });
  expect(await sender.destinations()).toMatchObject([{ state: 'open', isHeld: true, epoch: 1 }]);
  expect(await destinations.list()).toHaveLength(2);
  const { token } = await tokens.create('ci', ['admin']);
  expect(await tokens.verify(token)).toMatchObject({ scopes: ['admin'] });
  expect((await sender.signingKeys()).current).toMatch(/^sig_/);
  await sender.close();
}

test('the delivery server keeps the same through postgres.js [X.8]', async ({ postgres: server }) => {
  const client = postgresJs(server.url, { max: 3, onnotice: () => undefined });
  onTestFinished(async () => {
    await client.unsafe(`drop schema "${schema}" cascade`);
    await client.end({ timeout: 1 });
  });
  const owner = await client.reserve();
  await migrate(owner, { schema });
  owner.release();
  await checkClient(client, (text) => client.unsafe(text));
});

test('the delivery server keeps the same in PGlite [X.8]', async () => {
  const db = await PGlite.create();
  onTestFinished(() => db.close());
  await migrate(db, { schema });
  await checkClient(db, (text) => db.exec(text));
});
