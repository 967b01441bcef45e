import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@upstash/qstash';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deduplicationId, publishJob } from '../../src/webhooks/index.ts';

interface Seen {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Takes what is sent and writes it down. */
async function recorder(status = 200): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      seen.push({ url: request.url, headers: request.headers, body });
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end('{"messageId":"msg_1","deduplicated":true}');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const MESSAGE = {
  job: 'send-reminder',
  resourceId: 'r-7',
  url: 'https://example.com/jobs/reminder?a=1',
  body: { id: 7 },
};

test('a job is published in the same way through the client of QStash and by plain HTTP [S3.1]', async () => {
  const { url, seen } = await recorder();
  const through = [new Client({ baseUrl: url, token: 't' }), { baseUrl: `${url}/`, token: 't' }];
  for (const to of through) expect(await publishJob(to, MESSAGE)).toEqual({ messageId: 'msg_1', deduplicated: true });
  expect(seen).toHaveLength(2);
  for (const { url: path, headers, body } of seen) {
    expect(path).toBe('/v2/publish/https://example.com/jobs/reminder?a=1');
    expect(headers).toMatchObject({
      authorization: 'Bearer t',
      'content-type': 'application/json',
      'upstash-method': 'POST',
      'upstash-deduplication-id': 'send-reminder:r-7',
      'upstash-forward-holdfast-deduplication-id': 'send-reminder:r-7',
      'upstash-retries': '5',
      'upstash-retry-delay': '10000 * pow(2, retried)',
    });
    expect(body).toBe('{"id":7}');
  }
});

test('the deduplication id has a time span only when it is asked for [S3.1]', () => {
  const at = 1_700_000_000_000;
  expect(deduplicationId(MESSAGE, at)).toBe('send-reminder:r-7');
  expect(deduplicationId({ ...MESSAGE, bucketSeconds: 3_600 }, at)).toBe('send-reminder:r-7:472222');
  expect(deduplicationId({ ...MESSAGE, bucketSeconds: 3_600 }, at + 3_600_000)).toBe('send-reminder:r-7:472223');
});

test('an address that would reach other routes of the sender is refused [S3.1]', async () => {
  const { url, seen } = await recorder();
  for (const bad of [
    'https://x/../../../../keys/rotate',
    'https://x/%2e%2e/%2E%2e/keys',
    'https://x/..\\..\\..\\keys',
    'https://x/.\t./.\n./keys',
    'ftp://x',
    'x',
    '',
  ]) {
    await expect(publishJob({ baseUrl: url, token: 't' }, { ...MESSAGE, url: bad })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  }
  expect(seen).toEqual([]);
});

test('names that do not fit into a header, and times that are none, are refused [S3.1]', async () => {
  const { url, seen } = await recorder();
  const bad = [
    { resourceId: 'r 7' },
    { resourceId: 'r\n7' },
    { job: '日本' },
    { job: '' },
    { delaySeconds: NaN },
    { retries: 0.5 },
  ];
  for (const part of bad) {
    await expect(publishJob({ baseUrl: url, token: 't' }, { ...MESSAGE, ...part })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    });
  }
  expect(seen).toEqual([]);
});

test('a sender that does not take the job is an error with its status [S3.1]', async () => {
  const { url } = await recorder(429);
  await expect(publishJob({ baseUrl: url, token: 't' }, MESSAGE)).rejects.toMatchObject({
    code: 'JOB_NOT_PUBLISHED',
    details: { status: 429 },
  });
});

const SILENT: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  'takes the request and never answers': () => undefined,
  'answers a head and never more': (response) => response.writeHead(200).flushHeaders(),
};

test.each(Object.entries(SILENT))('a sender that %s is not waited for without end [S3.1]', async (_name, answer) => {
  const server = createServer((_request, response) => void answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(publishJob({ baseUrl, token: 't', timeoutMs: 50 }, MESSAGE)).rejects.toMatchObject({
    code: 'JOB_PUBLISH_TIMEOUT',
    details: { timeoutMs: 50 },
  });
});

test('a sender has ten seconds to answer unless somebody says otherwise [S3.1]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { url } = await recorder();
  const started = vi.spyOn(globalThis, 'setTimeout');
  await publishJob({ baseUrl: url, token: 't' }, MESSAGE);
  expect(started.mock.calls.map(([, ms]) => ms)).toContain(10_000);
  expect(vi.getTimerCount()).toBe(0);
});

test('what is no such sender, or no way to one, is told as that [S3.1]', async () => {
  const server = createServer((_request, response) => response.end('<html>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(publishJob({ baseUrl, token: 't' }, MESSAGE)).rejects.toMatchObject({ code: 'JOB_NOT_PUBLISHED' });
  const wrong = [{ baseUrl, token: '' }, { baseUrl: 'qstash.upstash.io', token: 't' }, { token: 't' }, undefined];
  for (const to of wrong) {
    await expect(publishJob(to as never, MESSAGE)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  }
  for (const message of [undefined, { ...MESSAGE, body: undefined }, { ...MESSAGE, body: 1n }]) {
    const sent = publishJob({ baseUrl, token: 't' }, message as never);
    await expect(sent).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  }
});
