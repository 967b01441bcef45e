import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { embeddedPostgres } from '../../src/embedded/index.ts';
import { event } from '../../src/index.ts';
import { runHere } from '../cli/run-here.ts';
import { testService } from '../relay/service.ts';
import { dataFolder } from './data-folder.ts';

const placed = event<{ n: number }>('order.placed');
const SLEEPERS = 'select worker::text from $.waiter';
const USAGE = 'select pg_notification_queue_usage() as usage';

async function connected(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Fills the queue of notifications, which nothing empties while one session that listens stays in its transaction. */
async function fillNotifyQueue(url: string): Promise<{ readonly client: Client; empty(): Promise<unknown> }> {
  const [holder, client] = [await connected(url), await connected(url)];
  await holder.query('listen held');
  await holder.query('begin');
  await holder.query('select 1');
  const fill = (bytes: number): Promise<unknown> =>
    client.query(`select pg_notify('held', n || repeat('x', ${bytes})) from generate_series(1, 10) n`);
  // In ever smaller pieces, so that no room is left for the shortest.
  for (const bytes of [7_000, 100, 0]) {
    let isFull = false;
    while (!isFull)
      isFull = await fill(bytes).then(
        () => false,
        () => true,
      );
  }
  return { client, empty: () => holder.query('commit') };
}

// From PostgreSQL 17 on the queue can be made small; before, it is always 8 GB.
test('a full queue of notifications fails no commit of a sender, and what was sent is handled without them [S4.6]', async () => {
  const settings = { max_notify_queue_pages: '64' };
  const server = await embeddedPostgres({ dataDir: dataFolder(), sources: ['package'], settings });
  onTestFinished(() => server.stop());
  const { hf, start, inTransaction, column, schema } = await testService({ url: server.url, namespace: 'full_queue' });
  const seen: number[] = [];
  hf.on(placed, 'note', ({ n }) => void seen.push(n));
  const send = (n: number): Promise<unknown> => inTransaction((tx) => hf.send(tx, placed, { n }));
  await start({ pollMs: 100 });
  await expect.poll(() => column(SLEEPERS)).toHaveLength(1);
  const { client, empty } = await fillNotifyQueue(server.url);
  await expect(client.query(`notify held, 'one more'`)).rejects.toThrow('too many notifications');
  // The worker may just be awake; a sender that finds it asleep is the one that would notify.
  for (let n = 1; n <= 5; n++) {
    await expect.poll(() => column(SLEEPERS)).toHaveLength(1);
    await send(n);
    await expect.poll(() => seen).toContain(n);
  }
  // One that starts now joins as well: it cannot be woken, and polls.
  const late = await start({ pollMs: 100 });
  await send(6);
  await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5, 6]);
  await late.stop();
  const { out } = await runHere(['doctor'], { env: { DATABASE_URL: server.url, HOLDFAST_SCHEMA: schema } });
  expect(out).toMatch(/^warning +wake-up +the queue of notifications is \d+ % full, so none are sent/m);
  await empty();
  await expect.poll(async () => (await client.query<{ usage: number }>(USAGE)).rows[0]?.usage).toBeLessThan(0.5);
  await send(7);
  await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
});
