import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { startHoldfast } from '../cli/holdfast-process.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');

test.for(['dev', 'dev --json'])(
  '%s prints no password of its database, and says which file has it',
  async (command) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-dev-'));
    const running = startHoldfast([...command.split(' '), '--port', '0'], { cwd: folder });
    onTestFinished(async () => {
      running.child.kill('SIGTERM');
      await running.ended;
      await rm(folder, { recursive: true, force: true });
    });
    await running.until(/http:\/\/127\.0\.0\.1:\d+/);
    const file = join(folder, '.holdfast', 'dev', 'url');
    const url = (await readFile(file, 'utf8')).trim();
    const { password, port } = new URL(url);
    expect(password.length).toBeGreaterThan(15);
    expect(running.output()).toContain(`postgres://postgres@127.0.0.1:${port}/postgres`);
    expect(running.output()).toContain('.holdfast/dev/url');
    expect(running.output()).not.toContain(password);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.end();
  },
);
