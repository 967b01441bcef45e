import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { CERTIFICATE, KEY } from '../support/certificate.ts';
import { deliveries } from './kit.ts';

async function secureSink(): Promise<{ readonly port: number; readonly served: [host: unknown, name: unknown][] }> {
  const served: [unknown, unknown][] = [];
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    served.push([request.headers.host, (request.socket as { servername?: unknown }).servername]);
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, served };
}

test('an encrypted destination must be whom it says it is, by its name, also where the address was looked up [X.8]', async () => {
  const { port, served } = await secureSink();
  const resolve = (_host: string, answer: (error: null, found: { address: string; family: number }[]) => void): void =>
    answer(null, [{ address: '127.0.0.1', family: 4 }]);
  const { publish, sender } = await deliveries({ ca: CERTIFICATE, resolve });
  const ends = async (url: string): Promise<unknown> => {
    const id = await publish({ url, retries: 0 });
    const found = (): unknown[] =>
      sender.reports.filter(({ messageId }) => messageId === id).map(({ state, error }) => error ?? state);
    await expect.poll(found).toHaveLength(1);
    return found()[0];
  };
  expect(await ends(`https://hook.example:${port}/`)).toBe('DELIVERED');
  expect(await ends(`https://127.0.0.1:${port}/`)).toBe('DELIVERED');
  expect(await ends(`https://other.example:${port}/`)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await ends(`http://hook.example:${port}/`)).not.toBe('DELIVERED');
  expect(served).toEqual([
    [`hook.example:${port}`, 'hook.example'],
    [`127.0.0.1:${port}`, false],
  ]);
  const strict = await deliveries({ resolve });
  await strict.publish({ url: `https://hook.example:${port}/`, retries: 0 });
  await expect
    .poll(() => strict.sender.reports.map(({ error }) => error))
    .toEqual([expect.stringContaining('SELF_SIGNED')]);
  expect(served).toHaveLength(2);
});
