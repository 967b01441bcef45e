import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@upstash/qstash';
import { onTestFinished } from 'vitest';
import { startHoldfast } from '../cli/holdfast-process.ts';

/** Published by the vendor for development: no secret. */
export const DEV_TOKEN = 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=';

/** `holdfast dev --qstash-dev` in a process of its own, on a free port, until the test ends. */
export async function devServer(): Promise<{ readonly url: string; readonly key: string; readonly client: Client }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-dev-'));
  const running = startHoldfast(['dev', '--qstash-dev', '--port', '0'], { cwd: folder });
  onTestFinished(async () => {
    running.child.kill('SIGTERM');
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  });
  await running.until(/Serving http:\S+\//);
  const [, url = '', key = ''] = /Serving (\S+)\/\?key=(\S+)/.exec(running.output()) ?? [];
  return { url, key, client: new Client({ baseUrl: url, token: DEV_TOKEN, retry: false }) };
}
