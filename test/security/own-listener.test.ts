import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { describe, expect, onTestFinished, test as plain } from 'vitest';
import type { OwnListener, Resolve } from '../../src/delivery/index.ts';
import { deliveries, sink } from '../delivery/kit.ts';
import { needs } from '../support/needs.ts';
import { devServer } from './dev-server.ts';

const test = needs('postgres');

/** A listener that counts who connects. */
async function counting(host: string): Promise<{ readonly own: OwnListener; connections(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => void server.close());
  return { own: server.address() as AddressInfo, connections: () => connections };
}

const ADDRESSES = Object.values(networkInterfaces())
  .flatMap((some = []) => some)
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
  .filter((host) => URL.canParse(`http://${host}/`));

const OF_127_0_0_1 = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.000.000.001',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '0.0.0.0',
  '0',
  '[::]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  '①②⑦.0.0.1',
  '127。0。0。1',
  '%31%32%37.0.0.1',
];

/** Names that the resolver turns to addresses. */
const resolve: Resolve = (host, answer) => {
  const named: Partial<Record<string, string[]>> = {
    'rebound.example': ['127.0.0.1'],
    'six.example': ['::ffff:127.0.0.1'],
    'zero.example': ['0.0.0.0'],
  };
  const addresses = named[host] ?? ['127.0.0.1'];
  answer(
    null,
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};

describe('the listener of this server', () => {
  plain.each([
    ['127.0.0.1', OF_127_0_0_1],
    ['0.0.0.0', [...OF_127_0_0_1, '127.0.0.2', '127.255.255.254', hostname(), ...ADDRESSES]],
    ['::', [...OF_127_0_0_1, '[::1]', '127.9.9.9', ...ADDRESSES]],
    ['127.0.0.5', ['127.0.0.5', '127.5', '[::ffff:127.0.0.5]']],
  ])('on %s is never called, whatever the form of the address [X.8]', async (host, forms) => {
    const { own, connections } = await counting(host);
    const kit = await deliveries({
      addresses: { loopback: true, allow: ['0.0.0.0/0', '::/0'], own: () => [own] },
      resolve,
    });
    const names = ['rebound.example', 'six.example', 'zero.example'].filter(() => host !== '127.0.0.5');
    const urls = [...forms, ...names].map((form) => `http://${form}:${own.port}/`);
    for (const url of urls) await kit.publish({ url, retries: 0, body: 'x' });
    await expect.poll(() => kit.sender.reports.length).toBe(urls.length);
    const called = kit.sender.reports.filter(({ error }) => error?.includes('is this server itself') !== true);
    expect(called.map(({ request, error }) => [request.url, error])).toEqual([]);
    expect(connections()).toBe(0);
  });

  plain('is told from another service on the same port of another address, and on another port [X.8]', async () => {
    const { url, arrived } = await sink();
    const port = Number(new URL(url).port);
    const own = [
      { address: '127.0.0.1', port: port + 1 },
      { address: '127.0.0.2', port },
    ];
    const kit = await deliveries({ addresses: { loopback: true, own: () => own } });
    await kit.publish({ url: `${url}/wanted` });
    await expect.poll(() => arrived.map(({ path }) => path)).toEqual(['/wanted']);
  });
});

test('no message, callback, schedule, URL group or endpoint leads to the server that delivers it [X.8]', async () => {
  const { url, key, client } = await devServer();
  const { port } = new URL(url);
  const service = await sink();
  const itself = expect.stringMatching(/is this server itself|0\.0\.0\.0 is not a public one/) as string;
  const refusal = expect.objectContaining({ status: 400, message: itself }) as Error;
  for (const host of ['127.0.0.1', 'localhost', '127.1', '[::ffff:7f00:1]', '0.0.0.0', '2130706433']) {
    const own = `http://${host}:${port}/api/pause-all`;
    await expect(client.publish({ url: own }), host).rejects.toEqual(refusal);
    expect(await client.batch([{ url: own }]), host).toMatchObject([{ error: itself }]);
    await expect(client.publish({ url: service.url, callback: own }), host).rejects.toEqual(refusal);
    await expect(client.publish({ url: service.url, failureCallback: own }), host).rejects.toEqual(refusal);
    await expect(client.schedules.create({ destination: own, cron: '* * * * *' }), host).rejects.toEqual(refusal);
    // Members of a group are judged when something is published to it.
    await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: own }] });
    await expect(client.publish({ urlGroup: 'group' }), host).rejects.toEqual(refusal);
    await client.urlGroups.delete('group');
  }
  const endpoint = await fetch(`${url}/api/delivery/endpoints`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/api/pause-all` }),
  });
  expect([endpoint.status, await endpoint.text()]).toEqual([400, itself]);
  expect(service.arrived).toEqual([]);
});

test('a delivery that comes by another way is not taken by the console, nor by a server of development [X.8]', async () => {
  const { url } = await devServer();
  for (const path of ['api/session', 'v2/keys', 'healthz', 'mcp', 'metrics', '']) {
    for (const name of ['upstash-message-id', 'webhook-id']) {
      const answer = await fetch(`${url}/${path}`, { headers: { [name]: '1' } });
      expect([path, name, answer.status]).toEqual([path, name, 403]);
    }
  }
});
