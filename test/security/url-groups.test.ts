import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { migrate } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { type QstashHere, sharedQstash } from '../qstash/qstash-here.ts';
import { V2Caller } from './v2-caller.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

const INTAKE = new URL('intake-process.ts', import.meta.url);
const DELIVERING = new URL('delivering-process.ts', import.meta.url);
const MEBIBYTE = 1_048_576;
const BODY = 'x'.repeat(1_000_000);
const LATER = { 'upstash-delay': '1h' };

async function asked(child: ChildProcess): Promise<Readonly<Record<string, number>>> {
  const answer = once(child, 'message') as Promise<[Readonly<Record<string, number>>]>;
  child.send('?');
  return (await answer)[0];
}

/** A server in a process of its own over the same schema. */
async function intakeProcess(
  { schema, token }: Pick<QstashHere, 'schema' | 'token'>,
  url: string,
  program: URL = INTAKE,
): Promise<{ readonly v2: V2Caller; peakBytes(): Promise<number> }> {
  const child = fork(fileURLToPath(program), [url, schema]);
  onTestFinished(() => void child.kill());
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    v2: new V2Caller(`http://127.0.0.1:${port}`, token),
    peakBytes: async () => (await asked(child))['peakBytes'] ?? Infinity,
  };
}

async function makeGroup(v2: V2Caller, name: string, count: number): Promise<void> {
  const endpoints = Array.from({ length: count }, (_, at) => ({ url: `https://example.com/${name}/${at}` }));
  expect((await v2.ask('POST', `topics/${name}/endpoints`, { body: { endpoints } })).status).toBe(200);
}

function listOf(json: unknown): readonly { readonly messageId: string }[] {
  return json as readonly { readonly messageId: string }[];
}

test('a megabyte to a hundred endpoints takes the memory of a few bodies, however often it is sent', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { v2, peakBytes } = await intakeProcess(here, postgres.url);
  await makeGroup(v2, 'hundred', 100);
  const deduplicated = { ...LATER, 'upstash-content-based-deduplication': 'true' };
  await v2.ask('POST', `publish/https://example.com/warm`, { headers: deduplicated, body: BODY });
  const before = await peakBytes();
  for (const headers of [LATER, deduplicated, LATER]) {
    const { status, json } = await v2.ask('POST', 'publish/hundred', { headers, body: BODY });
    expect([status, listOf(json).length]).toEqual([201, 100]);
  }
  const created = await v2.ask('POST', 'schedules/hundred', {
    headers: { 'upstash-cron': '0 0 1 1 *', 'upstash-schedule-id': 'yearly' },
    body: BODY,
  });
  expect(created.status).toBe(201);
  const grownBytes = (await peakBytes()) - before;
  expect(grownBytes / MEBIBYTE).toBeLessThan(64);
  expect((await v2.ask('DELETE', 'messages?topicName=hundred')).json).toEqual({ cancelled: 300 });
  await v2.ask('DELETE', 'schedules/yearly');
});

test('six megabytes in a batch are taken in; six to a hundred endpoints are refused, and none of them is stored', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const { v2, peakBytes } = await intakeProcess(here, postgres.url);
  await makeGroup(v2, 'six', 100);
  const item = (destination: string): object => ({ destination, body: BODY, headers: { 'Upstash-Delay': '1h' } });
  const plain = await v2.ask('POST', 'batch', {
    body: Array.from({ length: 6 }, () => item('https://example.com/six')),
  });
  expect([plain.status, listOf(plain.json).map(({ messageId }) => typeof messageId)]).toEqual([
    201,
    Array.from({ length: 6 }, () => 'string'),
  ]);
  const before = await peakBytes();
  const grouped = await v2.ask('POST', 'batch', { body: Array.from({ length: 6 }, () => item('six')) });
  expect([grouped.status, grouped.json]).toEqual([
    413,
    { error: expect.stringMatching(/bodies of one call .* 104857600 bytes in all.*several calls/) as string },
  ]);
  expect((await v2.ask('GET', 'events?topicName=six')).json).toEqual({ events: [] });
  expect(((await peakBytes()) - before) / MEBIBYTE).toBeLessThan(120);
  // Headers of one message, and of all of them, are bounded as well.
  const headers = { 'Upstash-Forward-A': 'x'.repeat(70_000) };
  const wide = await v2.ask('POST', 'batch', { body: [{ destination: 'six', headers }] });
  expect([wide.status, wide.json]).toMatchObject([
    201,
    [{ error: expect.stringContaining('headers and settings') as string }],
  ]);
  const many = Array.from({ length: 140 }, () => ({
    destination: 'six',
    headers: { 'Upstash-Forward-A': 'x'.repeat(60_000) },
  }));
  expect((await v2.ask('POST', 'batch', { body: many })).status).toBe(413);
  expect((await v2.ask('DELETE', 'messages?url=https://example.com/six')).json).toEqual({ cancelled: 6 });
});

test('what waits for a destination that does not answer is not in memory, however small it is stored', async ({
  postgres,
}) => {
  const schema = `${postgres.namespace}_waiting`;
  const pool = new Pool({ connectionString: postgres.url });
  onTestFinished(() => pool.end());
  const connection = await pool.connect();
  await migrate(connection, { schema }).finally(() => connection.release());
  const { tokens } = postgresDelivery({ pool, schema });
  const { token } = await tokens.create('waiting', ['admin']);
  let held = 0;
  const sink = createServer((request, response) => {
    request.resume();
    if (request.url === '/answered') response.end();
    else held += 1;
  }).listen(0, '127.0.0.1');
  await once(sink, 'listening');
  onTestFinished(() => {
    sink.close();
    sink.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const { v2, peakBytes } = await intakeProcess({ schema, token }, postgres.url, DELIVERING);
  const endpoints = Array.from({ length: 100 }, (_, at) => ({ url: `${url}/${at}` }));
  await v2.ask('POST', 'topics/waiting/endpoints', { body: { endpoints } });
  await v2.ask('POST', `publish/${url}/answered`, { body: BODY });
  await expect.poll(async () => (await v2.ask('GET', 'events?state=DELIVERED')).text).toContain('/answered');
  const before = await peakBytes();
  for (let nth = 0; nth < 3; nth += 1)
    expect((await v2.ask('POST', 'publish/waiting', { body: BODY })).status).toBe(201);
  await expect.poll(() => held).toBeGreaterThanOrEqual(8);
  const grownBytes = (await peakBytes()) - before;
  expect(grownBytes / MEBIBYTE).toBeLessThan(100);
});

test('every endpoint of a group gets the body byte for byte: text, bytes, none, and from a schedule', async ({
  postgres,
}) => {
  const here = await qstashHere(postgres);
  const sink = await here.openSink();
  const v2 = new V2Caller(here.url, here.token);
  const paths = ['/one', '/two', '/three'];
  const endpoints = paths.map((path) => ({ url: `${sink.url}${path}` }));
  await v2.ask('POST', 'topics/three/endpoints', { body: { endpoints } });
  const bytes = new Uint8Array([0, 255, 10, 0]);
  const batch = ['ä \u{1f511} "quoted"', null, { bodyAt: 1 }].map((body) => ({ destination: 'three', body }));
  const { json } = await v2.ask('POST', 'batch', { body: batch });
  expect(listOf(json)).toHaveLength(3);
  const raw = await fetch(`${here.url}/v2/publish/three`, {
    method: 'POST',
    headers: { authorization: `Bearer ${here.token}` },
    body: bytes,
  });
  expect(raw.status).toBe(201);
  const scheduled = { 'upstash-cron': '* * * * *', 'upstash-schedule-id': 'minutely' };
  await v2.ask('POST', 'schedules/three', { headers: scheduled, body: 'from a schedule \u{1f511}' });
  await here.deliveries.schedules.fire(new Date(Date.now() + 61_000));
  const expected = [
    'ä \u{1f511} "quoted"',
    '',
    '{"bodyAt":1}',
    Buffer.from(bytes).toString(),
    'from a schedule \u{1f511}',
  ];
  for (const path of paths) {
    await expect
      .poll(() =>
        sink
          .at(path)
          .map(({ body }) => body)
          .toSorted(),
      )
      .toEqual(expected.toSorted());
    // The vendor's receiver takes a body as text.
    const texts = sink.at(path).filter((one) => !one.bytes.equals(Buffer.from(bytes)));
    expect(texts.map(({ verified }) => verified)).toEqual([true, true, true, true]);
  }
  expect(sink.at('/one').some((one) => Buffer.from(bytes).equals(one.bytes))).toBe(true);
  const shown = JSON.stringify((await v2.ask('GET', 'events?topicName=three')).json);
  expect(shown).not.toContain('bodyAt":');
  await v2.ask('DELETE', 'schedules/minutely');
});
