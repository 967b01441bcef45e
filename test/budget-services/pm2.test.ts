import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished } from 'vitest';
import { needs, type TestServer } from '../support/needs.ts';
import { freshFolder, isListening, startPrivate } from '../support/private-server.ts';
import { requestOf } from './requests.ts';
import { BUDGET_SERVERS, type Ends, ownEnvironment, type OwnEnvironment, type Servers } from './shared-budget.ts';

const DEPLOY = fileURLToPath(new URL('../../examples/budget-services/deploy/', import.meta.url));
const ECOSYSTEM = join(DEPLOY, 'ecosystem.config.cjs');
const APPS = ['expenses', 'orders', 'orders-relay', 'transactions'];
const exec = promisify(execFile);

const ends: Ends = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
const test = needs(...BUDGET_SERVERS, 'pm2');

/** What `pm2 jlist` says of one app. */
interface App {
  readonly name: string;
  readonly pid: number;
  readonly pm2_env: { readonly status: string };
}

/** The example under a pm2 of its own. */
interface Managed extends OwnEnvironment {
  readonly pm2: (...args: readonly string[]) => Promise<string>;
  readonly apps: () => Promise<readonly App[]>;
  /** `pm2 kill`, as at the end of the test. */
  readonly stop: () => Promise<void>;
}

/** Types what is at the top of the ecosystem file; pm2 ends with the test at the latest, however that ends. */
async function startManaged(servers: Servers, { url: program }: TestServer): Promise<Managed> {
  const own = await ownEnvironment(servers, ends);
  await exec(process.execPath, [join(DEPLOY, 'prepare.ts')], { env: { ...process.env, ...own.env } });
  const folder = freshFolder('pm2');
  const env = { ...own.env, PM2_HOME: join(folder, 'home'), PM2_DISABLE_VERSION_CHECK: 'true' };
  const pm2 = async (...args: readonly string[]): Promise<string> =>
    (await exec(process.execPath, [program, ...args], { env: { ...process.env, ...env } })).stdout;
  const apps = async (): Promise<readonly App[]> => {
    const line = (await pm2('jlist')).split('\n').find((one) => one.startsWith('[{'));
    return (JSON.parse(line ?? '[]') as App[]).toSorted((a, b) => a.name.localeCompare(b.name));
  };
  const running = await startPrivate({
    name: 'pm2',
    folder,
    env,
    before: [[process.execPath, program, 'start', ECOSYSTEM]],
    after: [[process.execPath, program, 'kill']],
    probe: async () => {
      const { orders, ordersRelay, expenses, transactionsRest } = own.ports;
      for (const port of [orders, ordersRelay, expenses, transactionsRest])
        await fetch(`http://127.0.0.1:${port}/metrics`);
    },
  });
  onTestFinished(() => running.stop());
  return { ...own, pm2, apps, stop: () => running.stop() };
}

/** What the relay of the orders has published since it was started. */
async function publishedBy({ ports }: OwnEnvironment): Promise<number> {
  const page = await fetch(`http://127.0.0.1:${ports.ordersRelay}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
  return Number(/^outbox_published_total\{type="order.placed"\} (\d+)$/m.exec(page)?.[1] ?? 0);
}

test('the budget services: pm2 starts every process, its relay publishes, also after a reload and after it was killed, and pm2 kill ends them all [S1.4] [S1.5]', async ({
  postgres,
  mongodb,
  redis,
  rabbitmq,
  kafka,
  pm2: program,
}) => {
  const managed = await startManaged({ postgres, mongodb, redis, rabbitmq, kafka }, program);
  const { ports, pm2, apps } = managed;
  const online = async (): Promise<unknown> =>
    (await apps()).map(({ name, pm2_env }) => [name, pm2_env.status] as const);
  const relay = async (): Promise<App | undefined> => (await apps()).find(({ name }) => name === 'orders-relay');
  const order = async (): Promise<void> => {
    expect(await requestOf({ ports }, 'REST', 'managed').send()).toMatchObject({ status: 201 });
  };
  const everyOnline = APPS.map((name) => [name, 'online']);
  await expect.poll(online).toEqual(everyOnline);
  await order();
  await expect.poll(() => publishedBy(managed)).toBe(1);
  const started = await relay();

  await pm2('reload', 'orders-relay');
  const reloaded = await relay();
  expect(reloaded?.pid).not.toBe(started?.pid);
  await order();
  await expect.poll(() => publishedBy(managed)).toBe(1);

  process.kill(reloaded?.pid ?? 0, 'SIGKILL');
  await order();
  await expect.poll(() => publishedBy(managed)).toBe(1);
  const again = await relay();
  expect([started?.pid, reloaded?.pid]).not.toContain(again?.pid);
  await expect.poll(online).toEqual(everyOnline);

  await managed.stop();
  const listening = await Promise.all(Object.values(ports).map((port) => isListening(port)));
  expect(listening).toEqual(listening.map(() => false));
});
