import { createServer } from 'node:net';
import { expect } from 'vitest';
import { otherPorts } from '../../examples/budget-services/local-ports.ts';
import type { Board } from '../../examples/local-page/board-state.ts';
import { run } from '../agent-chat/process.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { dropTopology } from '../support/rabbitmq-server.ts';
import { BUDGET_SERVERS } from './shared-budget.ts';

const test = needs(...BUDGET_SERVERS);

test('npm start -- budget takes the servers it is told of, shows a page with consoles, metrics and traces, and ends on Ctrl-C, also when told twice', async ({
  postgres,
  mongodb,
  redis,
  rabbitmq,
  kafka,
}) => {
  const prefix = `${rabbitmq.namespace}start.`;
  const program = run('../../scripts/start.ts', ['budget-services'], {
    DATABASE_URL: await freshDatabase(postgres),
    MONGODB_URL: mongodb.url.replace('/?', `/${mongodb.namespace}?`),
    REDIS_URL: redis.url,
    RABBITMQ_URL: rabbitmq.url,
    KAFKA_BROKERS: kafka.url,
    BUDGET_PREFIX: prefix,
    PORT: '0',
    ORDERS_PORT: String(await freePort()),
    EXPENSES_PORT: String(await freePort()),
    TRANSACTIONS_PORT: String(await freePort()),
    TRANSACTIONS_REST_PORT: String(await freePort()),
    ORDERS_RELAY_PORT: String(await freePort()),
    TRACES_PORT: String(await freePort()),
  });
  const output = await program.until(/Stop +Ctrl-C/);
  const url = /Open +(\S+)/.exec(output)?.[1] ?? '';
  const board = async (): Promise<Board> => (await (await fetch(`${url}/board`)).json()) as Board;
  expect(await (await fetch(url)).text()).toContain('/board.js');
  const { links, commands, tables } = await board();
  for (const { text, href } of links) expect((await fetch(new URL(href, url))).status, text).toBe(200);
  const [, places] = commands.map(({ command }) => command);
  const [, at = '', , body = ''] = /(http\S+).* -d ('(.*)')/.exec(places ?? '') ?? [];
  const key = { 'idempotency-key': crypto.randomUUID(), 'x-user': 'ada', 'content-type': 'application/json' };
  expect((await fetch(at, { method: 'POST', headers: key, body })).status).toBe(201);
  const spent = async (): Promise<unknown> => (await board()).tables.find(({ title }) => title === 'Budgets')?.rows;
  await expect.poll(spent).toEqual([['team', '129.00', '1']]);
  const requests = async (): Promise<readonly unknown[]> =>
    ((await board()).tables.find(({ title }) => title.startsWith('What came in'))?.rows ?? []).map(([name]) => name);
  // Pages of metrics are asked for again and again; they are no requests.
  await expect.poll(requests).toEqual(['POST /api/orders']);
  for (const name of ['orders', 'expenses', 'transactions'])
    expect(tables.map(({ title }) => title)).toContain(`Dead letters of ${name}`);
  program.child.kill('SIGINT');
  program.child.kill('SIGINT');
  expect(await program.ended, program.output()).toBe(0);
  await dropTopology(rabbitmq.url, prefix, ['order', 'holdfast'], ['expenses']);
});

test('where a usual port is taken the processes are given others next to each other, unless one was named', async ({
  postgres,
}) => {
  expect(postgres.url).not.toBe('');
  const taken = createServer();
  await new Promise<void>((resolve) => taken.once('error', () => resolve()).listen(3_003, '127.0.0.1', resolve));
  const ports = Object.values(await otherPorts({})).map(Number);
  taken.close();
  expect(ports).toHaveLength(6);
  expect(ports).not.toContain(3_003);
  expect(ports).toEqual(ports.map((_, n) => (ports[0] ?? 0) + n));
  expect(await otherPorts({ ORDERS_PORT: '4000' })).toEqual({});
});
