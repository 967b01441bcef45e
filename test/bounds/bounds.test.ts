import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import type { CallEnd } from './silent-process.ts';

const PROCESS = fileURLToPath(new URL('silent-process.ts', import.meta.url));
const PAGE = new URL('../../docs/timeouts.md', import.meta.url);

const test = needs('postgres', 'redis', 'mongodb');

test('every call to somebody who accepts and never answers ends with its own error, leaves nothing open, and its process ends [S0.6]', async ({
  postgres,
  redis,
  mongodb,
}) => {
  const schema = `${postgres.namespace}_bounds`;
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`drop schema if exists ${schema} cascade`);
  await migrate(client, { schema });
  await client.end();
  const servers = { postgres: postgres.url, schema, redis: redis.url, mongodb: mongodb.url };
  const { stdout } = await promisify(execFile)(process.execPath, [PROCESS, JSON.stringify(servers)], {
    // One that hangs is ended, so that what it said is seen.
    timeout: 100_000,
  });
  const ends = JSON.parse(stdout) as readonly CallEnd[];
  const wrong = ends.filter(({ ends: expected, ended, left }) => expected !== ended || left > 0);
  expect(wrong).toEqual([]);
  // The page has a row for each of them, and none that is not made here.
  const rows = (await readFile(PAGE, 'utf8')).matchAll(/^\| `([^`]+)`/gm);
  expect(new Set(Array.from(rows, ([, call]) => call))).toEqual(new Set(ends.map(({ call }) => call)));
});
