import { expect } from 'vitest';
import { runHere } from '../cli/run-here.ts';
import { type DeliveryDatabase, openDeliveries, SECRET } from '../delivery-store/delivery-database.ts';
import { serveHere, TOKENS } from '../server/serving.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');

for (const on of ['a database', 'a server'] as const) {
  test(`Endpoints and destinations of ${on} are listed and changed on the command line, for people and as JSON [X.8] [X.10]`, async ({
    postgres,
  }) => {
    const deliveries = await openDeliveries(postgres);
    const { database, endpoints } = deliveries;
    const env =
      on === 'a database'
        ? { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: database.schema, HOLDFAST_SECRET: SECRET }
        : await served(deliveries);
    const run = (...line: string[]): ReturnType<typeof runHere> => runHere(line, { env });
    const ask = async <T>(...line: string[]): Promise<T> => {
      const { code, out, err } = await run(...line, '--json');
      expect([code, err], line.join(' ')).toEqual([0, '']);
      return JSON.parse(out) as T;
    };
    expect((await run('endpoints')).out).toBe('There is no endpoint. holdfast endpoints add <url> makes one.\n');
    const { id, secret } = await ask<{ id: string; secret: string }>(
      'endpoints',
      'add',
      'https://shop.example/hooks',
      '--types',
      'order.*,invoice.paid',
      '--retry',
      '5s,2m',
      '--header',
      'x-tenant=7',
      '--rate',
      '10',
      '--timeout',
      '15s',
      '--description',
      'the shop',
    );
    expect(await ask('endpoints', 'list')).toMatchObject({
      items: [
        {
          id,
          eventTypes: ['order.*', 'invoice.paid'],
          headers: { 'x-tenant': '7' },
          retrySeconds: [5, 120],
          timeoutMs: 15_000,
          ratePerSecond: 10,
        },
      ],
    });
    expect((await run('endpoints')).out).toMatch(
      new RegExp(`^${id} +https://shop\\.example/hooks +order\\.\\*, invoice\\.paid +enabled +– +.* the shop`, 'm'),
    );
    expect((await run('endpoints', 'secrets', id)).out).toBe(`${secret}\n`);
    const turned = await run('endpoints', 'rotate', id, '--grace', '48h', '--reason', 'somebody left');
    expect(turned.out).toMatch(/^whsec_\S+\n\nThe one before signs too, until .* from now\.\n$/);
    expect((await run('endpoints', 'rotate', id, '--grace', '200h')).err).toContain('within 0 and 168');
    expect((await run('endpoints', 'disable', id)).out).toBe(`${id} is disabled; what waits for it is kept.\n`);
    expect((await run('endpoints')).out).toContain('disabled: by hand');
    expect((await run('endpoints', 'enable', id)).out).toContain('what waited for it goes on');
    const { messageIds } = await endpoints.send({ type: 'order.paid', data: 1 });
    const [message = ''] = messageIds;
    await database.sql(`update $S.delivery set state = 2, failed_at = now() where id = $1`, [message]);
    expect((await run('endpoints', 'recover', id, '--since', '2h')).out).toBe(
      `1 message of ${id} will be sent again.\n`,
    );
    expect((await run('endpoints', 'recover', id)).err).toContain('--since 2h');
    expect((await run('endpoints', 'resend', id, message)).out).toContain('is sent again');
    expect((await run('endpoints', 'resend', id)).err).toContain('<message>');
    expect((await run('endpoints', 'add', 'ftp://shop.example')).err).toContain('write https://');
    expect((await run('endpoints', 'enable', 'ep_none')).err).toContain('there is no endpoint ep_none');
    expect(await run('endpoints', 'delete', id)).toMatchObject({ code: 1, err: expect.stringContaining('pass --yes') });
    expect(await ask('endpoints', 'delete', id, '--yes')).toEqual({ id, isDeleted: true });

    expect((await run('destinations')).out).toBe('Nothing was delivered anywhere yet.\n');
    const opened = await run('destinations', 'open', 'https://shop.example/path', '--reason', 'they asked');
    expect(opened.out).toContain('Nothing is sent to https://shop.example.');
    expect((await run('destinations')).out).toMatch(/^https:\/\/shop\.example +open, held/m);
    expect(await ask('destinations', 'close', 'https://shop.example')).toEqual({
      destination: 'https://shop.example',
      breaker: 'closed',
    });
    expect((await run('destinations', 'close', 'https://shop.example')).err).toContain('closed already');
    expect((await run('destinations', 'open', 'shop')).err).toContain('https://api.example.com');
  });
}

test('An endpoint cannot be added to a database without the secret that seals its own [X.8]', async ({ postgres }) => {
  const { database } = await openDeliveries(postgres);
  const { code, err } = await runHere(['endpoints', 'add', 'https://shop.example'], {
    env: { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: database.schema },
  });
  expect([code, err]).toEqual([1, expect.stringContaining('HOLDFAST_SECRET')]);
});

test('A server lets a token do on the command line what its role may, and one that does not deliver says so [X.9]', async ({
  postgres,
}) => {
  const deliveries = await openDeliveries(postgres);
  const add = ['endpoints', 'add', 'https://shop.example'];
  const env = await served(deliveries);
  const asViewer = await runHere(add, { env: { ...env, HOLDFAST_TOKEN: TOKENS[0].token } });
  expect([asViewer.code, asViewer.err]).toEqual([1, expect.stringContaining('admin')]);
  const { url } = await serveHere({ operator: deliveries.database.operator, tokens: TOKENS });
  const without = await runHere(['destinations'], { env: { ...env, HOLDFAST_SERVER: url } });
  expect([without.code, without.err]).toEqual([1, expect.stringContaining('it knows no api/delivery/destinations')]);
});

/** What the command line is told of a server with these deliveries, as an admin. */
async function served(deliveries: DeliveryDatabase): Promise<Record<string, string>> {
  const { url } = await serveHere({ operator: deliveries.database.operator, deliveries, tokens: TOKENS });
  return { HOLDFAST_SERVER: url, HOLDFAST_TOKEN: TOKENS[2].token };
}
