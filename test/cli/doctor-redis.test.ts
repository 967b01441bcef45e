import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';
import { privateRedis } from '../idempotency-stores/private-redis.ts';
import { openIoredis } from '../idempotency-stores/redis-clients.ts';
import { needs } from '../support/needs.ts';
import { runHoldfast, type RunOptions } from './holdfast-process.ts';

const test = needs('redisServer');

// What is found of the database is not what these tests are about.
const NO_DATABASE = 'postgres://me@127.0.0.1:1/db';

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly next?: string;
}

async function ofRedis(args: readonly string[], options: RunOptions = {}): Promise<readonly Finding[]> {
  const { out, err } = await runHoldfast(['doctor', '--json', '--url', NO_DATABASE, ...args], options);
  expect(out + err).not.toContain('geheim');
  const { findings } = JSON.parse(out) as { findings: readonly Finding[] };
  return findings.filter(({ check }) => check === 'redis');
}

function folder(): string {
  const made = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-project-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  writeFileSync(join(made, 'package.json'), '{ "type": "module" }');
  return made;
}

/** A project that has these packages. */
function projectWith(...packages: readonly string[]): string {
  const made = folder();
  mkdirSync(join(made, 'node_modules'));
  for (const name of packages) symlinkSync(join(ROOT, 'node_modules', name), join(made, 'node_modules', name));
  return made;
}

/** The program where no package is beside it. */
function programAlone(): string {
  const made = folder();
  cpSync(join(ROOT, 'dist'), join(made, 'dist'), { recursive: true });
  return join(made, 'dist/cli/main.js');
}

test('doctor finds a Redis fit that evicts nothing and writes a log, and looks at none that nobody names [S1.3]', async ({
  redisServer,
}) => {
  const { url, port } = await privateRedis(redisServer.url);
  const found = `127.0.0.1:${port} (from --redis), through ioredis: evicts nothing and writes a log`;
  expect(await ofRedis(['--redis', url])).toEqual([{ check: 'redis', status: 'ok', found }]);
  expect(await ofRedis([])).toEqual([]);
});

test("doctor takes a Redis that evicts for a problem where it is ours, and for a warning where it may be anybody's [S1.3]", async ({
  redisServer,
}) => {
  const { url } = await privateRedis(redisServer.url, '--maxmemory-policy', 'allkeys-lru', '--appendonly', 'no');
  for (const [variable, statuses] of [
    ['HOLDFAST_REDIS_URL', ['problem', 'warning']],
    ['REDIS_URL', ['warning', 'warning']],
  ] as const) {
    const findings = await ofRedis([], { env: { [variable]: url } });
    expect(findings.map(({ status }) => status)).toEqual(statuses);
    expect(findings[0]?.found).toContain(`(from ${variable}): maxmemory-policy is allkeys-lru`);
    expect(findings[0]?.next).toContain('noeviction');
  }
});

test('doctor says of a Redis that is away, hangs or wants a password what it is, and never the password [S1.3]', async ({
  redisServer,
}) => {
  const { url, kill, hang, goOn } = await privateRedis(redisServer.url);
  await (await openIoredis(url)).send('CONFIG', 'SET', 'requirepass', 'other');
  const withPassword = url.replace('//', '//:geheim@');
  expect(await ofRedis(['--redis', withPassword])).toMatchObject([
    { status: 'problem', next: expect.stringContaining('write user and password into the URL') as unknown },
  ]);
  hang();
  expect(await ofRedis(['--redis', withPassword])).toMatchObject([
    { status: 'problem', found: expect.stringContaining('no answer within 10 s') as unknown },
  ]);
  goOn();
  await kill();
  expect(await ofRedis([], { env: { REDIS_URL: withPassword } })).toMatchObject([
    { status: 'warning', found: expect.stringContaining('ECONNREFUSED') as unknown },
  ]);
  expect(await ofRedis(['--redis', 'geheim@localhost'])).toMatchObject([
    { status: 'problem', next: 'write redis://user:password@host:6379' },
  ]);
});

test('doctor asks Redis through the client that the project has [S1.3]', async ({ redisServer }) => {
  const { url } = await privateRedis(redisServer.url);
  const bin = programAlone();
  const found = async (...clients: readonly string[]): Promise<string | undefined> =>
    (await ofRedis(['--redis', url], { cwd: projectWith('pg', ...clients), bin }))[0]?.found;
  expect(await found('ioredis')).toContain('through ioredis');
  expect(await found('redis')).toContain('through node-redis');
  expect(await found()).toBe('no client is installed');
});
