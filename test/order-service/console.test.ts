import { expect, onTestFinished } from 'vitest';
import { startOrderService } from '../../examples/order-service/order-service.ts';
import { needs } from '../support/needs.ts';
import { freshDatabase } from './fresh-database.ts';

const test = needs('postgres');

interface Listed {
  readonly items: readonly { readonly messageId: string; readonly state: string }[];
}

interface Shown {
  readonly message: { readonly deliveries: readonly { readonly handler: string; readonly status: string }[] };
}

test('the console over the order service shows what goes wrong in the live traffic, and a replay of it succeeds [X.2] [S4.9]', async ({
  postgres,
}) => {
  const service = await startOrderService({ databaseUrl: await freshDatabase(postgres), speed: 20, hasTraffic: true });
  onTestFinished(() => service.stop());
  const { url } = await service.listen(0);
  const ask = async <T>(path: string, init?: RequestInit): Promise<T> =>
    (await (await fetch(`${url}/console/${path}`, init)).json()) as T;
  expect(await (await fetch(`${url}/console/`)).text()).toContain('<base href="/console/" />');

  // Five orders in a currency whose rate is late; when it has come, two of them are replayed by the shop itself.
  const wait = { timeout: 50_000, interval: 100 };
  await expect.poll(async () => (await ask<Listed>('api/bulk')).items[0]?.state, wait).toBe('done');
  const { items } = await ask<Listed>('api/dead-letters?handler=charge-card');
  expect(items.length).toBeGreaterThanOrEqual(3);

  const message = `api/messages/${items.at(-1)?.messageId}`;
  const { csrf } = await ask<{ readonly csrf: string }>('api/session');
  const headers = { 'content-type': 'application/json', 'x-holdfast-csrf': csrf };
  const body = JSON.stringify({ reason: 'the rate is known now' });
  expect(await ask(`${message}/replay`, { method: 'POST', headers, body })).toMatchObject({ kind: 'replayed' });
  const statuses = async (): Promise<readonly string[]> =>
    (await ask<Shown>(message)).message.deliveries
      .filter(({ handler }) => handler === 'charge-card')
      .map(({ status }) => status);
  await expect.poll(statuses, wait).toEqual(['delivered']);
  for (const page of ['messages', 'keys', 'breakers', 'idempotency', 'commands', 'calls', 'audit']) {
    await expect.poll(async () => (await ask<Listed>(`api/${page}`)).items.length, wait).toBeGreaterThan(0);
  }
});
