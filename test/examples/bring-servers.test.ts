import { existsSync, globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect } from 'vitest';
import { bringServers, NoServerError } from '../../scripts/start/bring-servers.ts';
import { needs } from '../support/needs.ts';

const test = needs('embeddedPostgres');

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

test('a server that is not named is started in a temporary folder, said so, and gone with its data when it is stopped', async ({
  embeddedPostgres,
}) => {
  expect(embeddedPostgres.url).not.toBe('');
  const said: string[] = [];
  const given = { OTHER_URL: 'as it is' };
  const wanted = { DATABASE_URL: 'embeddedPostgres', OTHER_URL: 'redis' } as const;
  const { env, stop } = await bringServers(wanted, given, (line) => said.push(line));
  expect(Object.keys(env)).toEqual(['DATABASE_URL']);
  expect(said).toEqual(['Starting embedded postgres …']);
  const url = env['DATABASE_URL'] ?? '';
  expect(await answers(url)).toBe(true);
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ folder: string }>(
    `select setting as folder from pg_settings where name = 'data_directory'`,
  );
  await client.end();
  const folder = rows[0]?.folder ?? '';
  expect(globSync(join(tmpdir(), 'holdfast-embedded-postgres-*', 'data'))).toContain(folder);
  await stop();
  expect(await answers(url)).toBe(false);
  expect(existsSync(folder)).toBe(false);
});

test('what cannot be had is told with the variable to set and what to do, and what was started is stopped', async ({
  embeddedPostgres,
}) => {
  expect(embeddedPostgres.url).not.toBe('');
  const given = { HOLDFAST_REDIS_URL: 'redis://127.0.0.1:1' };
  const wanted = { DATABASE_URL: 'embeddedPostgres', REDIS_URL: 'redis' } as const;
  const brought = bringServers(wanted, given, () => undefined);
  await expect(brought).rejects.toThrow(NoServerError);
  await expect(brought).rejects.toThrow(
    /^redis: the server named in HOLDFAST_REDIS_URL cannot be used: .*; set REDIS_URL, or start a Redis/,
  );
});
