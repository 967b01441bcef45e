import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { serviceCallClassifier, streamClassifier } from '../../src/retry/classifier.ts';
import { closedPort, httpServer, tcpServer, thrownBy } from './local-servers.ts';

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

/** A server that gives every request the same answer and counts them. */
async function provider(answer: Answer): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const url = await httpServer((_, response) => {
    requests++;
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body));
  });
  return { url, requests: () => requests };
}

const PROMPT = [{ role: 'user', content: 'hello' }] as const;

function askOpenAI(baseURL: string, timeout = 30_000): Promise<unknown> {
  const client = new OpenAI({ apiKey: 'test', baseURL, maxRetries: 0, timeout });
  return thrownBy(() => client.chat.completions.create({ model: 'm', messages: [...PROMPT] }));
}

function askAnthropic(baseURL: string, timeout = 30_000): Promise<unknown> {
  const client = new Anthropic({ apiKey: 'test', baseURL, maxRetries: 0, timeout });
  return thrownBy(() => client.messages.create({ model: 'm', max_tokens: 1, messages: [...PROMPT] }));
}

function askThroughAiSdk(baseURL: string, maxRetries = 0): Promise<unknown> {
  const model = createOpenAI({ apiKey: 'test', baseURL }).chat('m');
  return thrownBy(() => generateText({ model, messages: [...PROMPT], maxRetries }));
}

const openaiBody = (type: string, code: string | null): object => ({
  error: { message: 'm', type, code, param: null },
});
const anthropicBody = (type: string): object => ({ type: 'error', error: { type, message: 'm' } });

describe.each([
  ['the OpenAI client', askOpenAI],
  ['the AI SDK', askThroughAiSdk],
])('real failures of %s', (_, ask) => {
  test('a rate limit is retried after what the server said, in one request [S2.2] [F.18]', async () => {
    const body = openaiBody('tokens', 'rate_limit_exceeded');
    const server = await provider({ status: 429, headers: { 'retry-after': '7', 'retry-after-ms': '6500' }, body });
    const failure = streamClassifier(await ask(server.url));
    expect(failure).toMatchObject({
      verdict: 'retry',
      kind: 'rate-limit',
      status: 429,
      hint: { afterMs: 6500, source: 'retry-after-ms' },
    });
    expect(server.requests()).toBe(1);
  });

  test('a spent quota is a 429 that stops [S2.2]', async () => {
    const server = await provider({ status: 429, body: openaiBody('insufficient_quota', 'insufficient_quota') });
    const failure = streamClassifier(await ask(server.url));
    expect(failure).toEqual({ verdict: 'fail', kind: 'quota', status: 429, code: 'insufficient_quota' });
  });

  test('a bad request is never retried, whatever the server says about it [S0.2] [S2.2]', async () => {
    const body = openaiBody('invalid_request_error', 'context_length_exceeded');
    const server = await provider({ status: 400, headers: { 'x-should-retry': 'true' }, body });
    expect(streamClassifier(await ask(server.url))).toMatchObject({ verdict: 'fail', kind: 'invalid', status: 400 });
  });

  test('a wrong key is never retried, an overloaded server is [S2.2]', async () => {
    const wrong = await provider({ status: 401, body: openaiBody('invalid_request_error', 'invalid_api_key') });
    expect(streamClassifier(await ask(wrong.url))).toMatchObject({ verdict: 'fail', kind: 'auth', status: 401 });
    const busy = await provider({ status: 503, body: openaiBody('server_error', 'slow_down') });
    expect(streamClassifier(await ask(busy.url))).toMatchObject({
      verdict: 'retry',
      kind: 'overload',
      status: 503,
      code: 'slow_down',
    });
  });

  test('a closed port is a network error [S0.2]', async () => {
    const error = await ask(`http://127.0.0.1:${await closedPort()}`);
    expect(serviceCallClassifier(error)).toEqual({ verdict: 'retry', kind: 'network', code: 'ECONNREFUSED' });
  });
});

describe('real failures of the Anthropic client', () => {
  test('an overload as 529 is retried, by a service call too [S2.2]', async () => {
    const server = await provider({
      status: 529,
      headers: { 'x-should-retry': 'true' },
      body: anthropicBody('overloaded_error'),
    });
    const error = await askAnthropic(server.url);
    const overload = { verdict: 'retry', kind: 'overload', status: 529, code: 'overloaded_error' };
    expect(streamClassifier(error)).toMatchObject(overload);
    expect(serviceCallClassifier(error)).toMatchObject(overload);
    expect(server.requests()).toBe(1);
  });

  test('a rate limit is retried, a bad request is not [S2.2]', async () => {
    const limited = await provider({
      status: 429,
      headers: { 'retry-after': '3' },
      body: anthropicBody('rate_limit_error'),
    });
    const failure = streamClassifier(await askAnthropic(limited.url));
    expect(failure).toMatchObject({
      verdict: 'retry',
      kind: 'rate-limit',
      code: 'rate_limit_error',
      hint: { afterMs: 3000 },
    });
    const refused = await provider({ status: 400, body: anthropicBody('invalid_request_error') });
    expect(streamClassifier(await askAnthropic(refused.url))).toMatchObject({
      verdict: 'fail',
      kind: 'invalid',
      status: 400,
    });
  });

  test('the server’s no is obeyed although 503 would be retried [F.18]', async () => {
    const server = await provider({
      status: 503,
      headers: { 'x-should-retry': 'false' },
      body: anthropicBody('api_error'),
    });
    expect(streamClassifier(await askAnthropic(server.url))).toMatchObject({
      verdict: 'fail',
      reason: 'server-said-no',
    });
  });
});

describe('real timeouts and nested retries', () => {
  test.each([
    ['the OpenAI client', askOpenAI],
    ['the Anthropic client', askAnthropic],
  ])('a provider that never answers is a timeout for %s [S0.2]', async (_, ask) => {
    const port = await tcpServer(() => {});
    expect(serviceCallClassifier(await ask(`http://127.0.0.1:${port}`, 50))).toMatchObject({
      verdict: 'retry',
      kind: 'timeout',
    });
  });

  test('the AI SDK’s own retries are noticed', async () => {
    const server = await provider({
      status: 503,
      headers: { 'retry-after-ms': '1' },
      body: openaiBody('server_error', null),
    });
    const failure = serviceCallClassifier(await askThroughAiSdk(server.url, 1));
    expect(failure).toMatchObject({ verdict: 'retry', status: 503, nestedAttempts: 2 });
    expect(server.requests()).toBe(2);
  });
});
