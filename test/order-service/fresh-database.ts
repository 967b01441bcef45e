import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../support/needs.ts';

let databases = 0;

/** The address of a new, empty database on that server; dropped at the end of the test, whoever is still connected. */
export async function freshDatabase(server: TestServer): Promise<string> {
  const name = `${server.namespace}_${(databases += 1)}`;
  await run(server.url, `create database ${name}`);
  onTestFinished(() => run(server.url, `drop database if exists ${name} with (force)`));
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  url.search = '';
  return url.href;
}

async function run(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
