import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startHoldfast } from '../cli/holdfast-process.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { hostileClient } from './hostile-clients.ts';

const test = needs('postgres');

const TOKEN = 'admin-secret-00001';
// What 200 hostile connections may make a process grow by: about half of it is a heap that thousands of requests fill before it is
// collected. Without bounds, five connections made it 730 MB.
const MOST_GROWTH_BYTES = 128 * 1_048_576;

const KINDS = 6;

/** The largest file of the console. */
function largestAsset(): string {
  const page = readFileSync(fileURLToPath(new URL('../../dist/console/index.html', import.meta.url)), 'utf8');
  return /assets\/index-[\w-]+\.js/.exec(page)?.[0] ?? '';
}

/** What a process has in memory. */
function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

test('200 hostile connections neither fill the memory of a server nor keep it from answering others [X.9]', async ({
  postgres,
}) => {
  const env = { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: await freshSchema(postgres) };
  const line = ['serve', '--port', '0', '--token', `admin:ann=${TOKEN}`, '--stall-timeout', '1s'];
  const running = startHoldfast(line, { env: { ...env, HOLDFAST_SECRET: 'x'.repeat(40) } });
  await running.until(/Serving http:\S+\//);
  const url = /Serving (\S+)\//.exec(running.output())?.[1] ?? '';
  const port = Number(new URL(url).port);
  const pid = running.child.pid ?? 0;
  const asset = `GET /${largestAsset()} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
  const events = `GET /api/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`;
  const body = `POST /api/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{"token":"`;
  const isAlive = async (): Promise<boolean> => (await fetch(`${url}/healthz`)).status === 200;
  // A process that has just begun grows by being used at all.
  for (let i = 0; i < 1_500; i += 1) {
    await isAlive();
    if (i % 30 === 0) await (await fetch(`${url}/${largestAsset()}`)).arrayBuffer();
  }
  const before = residentBytes(pid);
  const clients = await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      switch (i % KINDS) {
        case 0:
          return hostileClient(port, asset.repeat(900));
        case 1:
          return hostileClient(port, asset.repeat(10));
        case 2:
          return hostileClient(port, 'GET /healthz HTTP/1.1\r\nx-slow: ', 'a');
        case 3:
          return hostileClient(port, body, 'a');
        case 4:
          return hostileClient(port, asset.replace('\r\n', '\r\nexpect: wonders\r\n').repeat(900));
        default:
          return hostileClient(port, events.repeat(2));
      }
    }),
  );
  // Whoever queues too much is closed; all the while others are answered. What of ten responses fits into the kernel is none of ours.
  let [most, answered] = [before, 0];
  const greedy = clients.filter((_, i) => [0, 4].includes(i % KINDS));
  while (answered < 200 || greedy.some((client) => !client.isClosed())) {
    expect(await isAlive()).toBe(true);
    answered += 1;
    most = Math.max(most, residentBytes(pid));
  }
  expect((most - before) / 1_048_576).toBeLessThan(MOST_GROWTH_BYTES / 1_048_576);
  expect(clients.filter((client, i) => i % KINDS === 5 && client.isClosed())).toEqual([]);
});
