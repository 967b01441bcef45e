import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { AddressGuard, checkDestination } from '../../src/delivery/address-guard.ts';
import { deliveries, sink } from '../delivery/kit.ts';
import { nameServer } from './name-server.ts';
import { ALLOWED, REFUSED_AT_CONNECTION, REFUSED_AT_PUBLISH } from './ssrf-table.ts';

/** Listens on all addresses of this machine, of both families. Nothing may reach it. */
async function trap(): Promise<{ readonly port: number; reached(): number }> {
  let reached = 0;
  const server = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, '::', done));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, reached: () => reached };
}

const rows = (port: number): (readonly [url: string, why: string])[] =>
  Object.entries(REFUSED_AT_PUBLISH).flatMap(([why, urls]) =>
    urls.map((url) => [url.replaceAll('PORT', `${port}`), why] as const),
  );

/** Everything resolves to this machine. */
const toLoopback: Parameters<typeof deliveries>[0] = {
  addresses: {},
  resolve: (_host, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]),
};

test('the table has the forms that are known, and controls', () => {
  expect(rows(1).length + Object.keys(REFUSED_AT_CONNECTION).length).toBeGreaterThanOrEqual(80);
  expect(ALLOWED.length).toBeGreaterThanOrEqual(10);
});

test('a form of a private address is refused when it is published, and says why [X.8]', () => {
  const verdicts = rows(8_080).map(([url, why]) => {
    const verdict = checkDestination(url, {});
    return [url, verdict.kind === 'refused' && verdict.why.includes(why) ? why : verdict];
  });
  expect(verdicts).toEqual(rows(8_080));
});

test('a form that was stored before it was refused is not connected to [X.8]', async () => {
  const { port, reached } = await trap();
  const kit = await deliveries(toLoopback);
  // What is no URL, or has a host without end, cannot be stored at all.
  const stored = rows(port).filter(([url]) => URL.canParse(url) && url.length < 250);
  expect(stored.length).toBeGreaterThan(100);
  for (const [url] of stored) await kit.publish({ url, retries: 0, body: 'x' });
  await expect.poll(() => kit.sender.reports.length).toBe(stored.length);
  expect(kit.sender.reports.filter(({ state }) => state !== 'FAILED')).toEqual([]);
  expect(reached()).toBe(0);
});

test('a public look-alike is refused nowhere [X.8]', () => {
  const guard = new AddressGuard({});
  expect(ALLOWED.map((url) => [url, checkDestination(url, {}).kind])).toEqual(ALLOWED.map((url) => [url, 'allowed']));
  const literal = ALLOWED.map((url) => new URL(url).hostname.replaceAll(/[[\]]/g, '')).filter((host) =>
    /^[\d.]+$|:/.test(host),
  );
  expect(literal.length).toBeGreaterThan(10);
  expect(literal.filter((host) => guard.checkPeer(host, 443).kind !== 'allowed')).toEqual([]);
});

test('a name that stands for a private address is published, and refused when it is resolved [X.8]', async () => {
  const { port, reached } = await trap();
  const zone = Object.fromEntries(
    Object.entries(REFUSED_AT_CONNECTION)
      .filter(([name]) => !name.includes('nip.'))
      .map(([name, addresses]) => [new URL(`http://${name}/`).hostname.replace(/\.$/, ''), [addresses]]),
  );
  const { resolve, asked } = await nameServer(zone);
  const kit = await deliveries({ addresses: {}, resolve });
  const urls = Object.keys(REFUSED_AT_CONNECTION).map((name) => `http://${name}:${port}/`);
  expect(urls.filter((url) => checkDestination(url, {}).kind !== 'allowed')).toEqual([]);
  for (const url of urls) await kit.publish({ url, retries: 0, body: 'x' });
  await expect.poll(() => kit.sender.reports.length).toBe(urls.length);
  const others = kit.sender.reports.filter(({ error }) => error?.includes('is not a public one') !== true);
  expect(others.map(({ request, error }) => [request.url, error])).toEqual([]);
  expect(new Set(asked).size).toBeGreaterThan(25);
  expect(reached()).toBe(0);
});

test('a name that is turned to this machine between two attempts is judged at each (DNS rebinding) [X.8]', async () => {
  // On the port of the service that may be called, at another address: what may not.
  const service = await sink((response) => response.writeHead(503, { connection: 'close' }).end());
  const port = Number(new URL(service.url).port);
  let reached = 0;
  const inside = createServer((socket) => {
    reached += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => inside.listen(port, '127.0.0.2', done));
  onTestFinished(() => void inside.close());
  const turned = {
    'four.test': [['127.0.0.1'], ['127.0.0.2']],
    'mapped.test': [['127.0.0.1'], ['::ffff:127.0.0.2']],
    'zero.test': [['127.0.0.1'], ['0.0.0.0']],
  };
  const { resolve, asked } = await nameServer(turned);
  const kit = await deliveries({ addresses: { allow: ['127.0.0.1'] }, resolve });
  for (const name of Object.keys(turned)) {
    for (const attempt of ['called', 'refused', 'refused again']) {
      const before = kit.sender.reports.length;
      await kit.publish({ url: `http://${name}:${port}/${attempt}`, retries: 0, body: 'x' });
      await expect.poll(() => kit.sender.reports.length).toBe(before + 1);
      const { responseStatus, error } = kit.sender.reports[before] ?? {};
      if (attempt === 'called') expect([name, responseStatus]).toEqual([name, 503]);
      else expect([name, error]).toEqual([name, expect.stringContaining('is not a public one')]);
    }
    expect(asked.filter((one) => one === name).length).toBe(3);
  }
  expect(service.arrived.map(({ path }) => path)).toEqual(['/called', '/called', '/called']);
  expect(reached).toBe(0);
});

test('of several addresses of a name those alone are connected to that may be called [X.8]', async () => {
  const service = await sink();
  const port = Number(new URL(service.url).port);
  let reached = 0;
  const inside = createServer(() => (reached += 1));
  await new Promise<void>((done) => inside.listen(port, '127.0.0.2', done));
  onTestFinished(() => void inside.close());
  const zone = { 'several.test': [['127.0.0.2', '127.0.0.1', '169.254.169.254', '::ffff:127.0.0.2']] };
  const { resolve } = await nameServer(zone);
  const kit = await deliveries({ addresses: { allow: ['127.0.0.1'] }, resolve });
  await kit.publish({ url: `http://several.test:${port}/wanted` });
  await expect.poll(() => service.arrived.map(({ path }) => path)).toEqual(['/wanted']);
  expect(reached).toBe(0);
});

test('no redirect, whatever its kind, leads a delivery to this machine [X.8]', async () => {
  const { port, reached } = await trap();
  const kinds = [301, 302, 303, 307, 308];
  const service = await sink((response, { path }) => {
    const to = `http://127.0.0.1:${port}/`;
    const headers = { location: to, refresh: `0;url=${to}`, 'alt-svc': `h2c="127.0.0.1:${port}"`, link: `<${to}>` };
    response.writeHead(Number(path.slice(1)), headers).end();
  });
  const kit = await deliveries();
  for (const kind of [...kinds, 200]) await kit.publish({ url: `${service.url}/${kind}`, retries: 0, body: 'x' });
  await expect.poll(() => kit.sender.reports.length).toBe(kinds.length + 1);
  expect(new Set(kit.sender.reports.map(({ responseStatus }) => responseStatus))).toEqual(new Set([200, ...kinds]));
  expect(reached()).toBe(0);
});

test('where credentials are kept is not allowed by a network around it, in no form [X.8]', () => {
  const guard = new AddressGuard({ allow: ['0.0.0.0/0', '::/0'] });
  const aws = ['169.254.169.254', '169.254.170.2', '169.254.170.23'];
  const all = [...aws, '169.254.0.23', '169.254.42.42', '168.63.129.16', '100.100.100.200', '192.0.0.192'];
  const forms = all.flatMap((one) => [one, `::ffff:${one}`, `64:ff9b::${one}`, `::${one}`]);
  const six = ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:42::42', 'fd00:c1::a9fe:a9fe', 'fe80::a9fe:a9fe'];
  expect([...forms, ...six].filter((one) => guard.checkAddress(one).kind !== 'refused')).toEqual([]);
  expect(['169.254.169.253', '64:ff9b::8.8.8.8'].map((one) => guard.checkAddress(one).kind)).toEqual([
    'allowed',
    'allowed',
  ]);
});
