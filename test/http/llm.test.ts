import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { answerOf, llm } from '../../src/http/index.ts';
import { llmProvider } from '../../src/retry/policies.ts';
import { policy } from '../../src/retry/policy.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { closing, sendJson, startService, startSocketService } from './local-service.ts';

const ASK = { model: 'm-1', messages: [{ role: 'user', content: 'hello' }] } as const;

function completion(content: string | null, finishReason = 'stop'): object {
  return {
    id: 'c1',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finishReason }],
    usage: { total_tokens: 9 },
  };
}

/** How many requests a provider sees that answers like this once and well after that, and the waits between them. */
async function requestsAfter(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ requests: number; waits: readonly number[]; kind: unknown }> {
  await using service = await startService((_, response, i) =>
    i === 0 ? sendJson(response, status, body, headers) : sendJson(response, 200, completion('hi')),
  );
  const { options, waits } = fastWaits();
  const { logger, lines } = keptLog();
  await llm({ baseUrl: service.url, logger, ...options })
    .chat(ASK)
    .catch(() => {});
  return { requests: service.seen.length, waits, kind: lines[0]?.fields['errorKind'] };
}

describe('a model provider', () => {
  test('a chat gives the text, why it ended and the tokens [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, completion('hi')));
    const chat = await llm({ baseUrl: `${service.url}/v1`, bearer: 'sk-1' }).chat({
      ...ASK,
      fields: { temperature: 0 },
    });
    expectTypeOf(chat.reply).toEqualTypeOf<string>();
    expect(chat).toMatchObject({
      reply: 'hi',
      finishReason: 'stop',
      usage: { total_tokens: 9 },
      attempts: 1,
      status: 200,
    });
    expect(service.seen[0]).toMatchObject({
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-1', 'x-timeout-ms': '120000' },
    });
    expect(JSON.parse(service.seen[0]?.body ?? '')).toEqual({ ...ASK, temperature: 0, stream: false });
  });

  test.each<[string, number, object, string]>([
    ['429', 429, { error: { code: 'rate_limit_exceeded', type: 'tokens' } }, 'rate-limit'],
    ['529', 529, {}, 'overload'],
    ['529 with its code', 529, { type: 'error', error: { type: 'overloaded_error' } }, 'overload'],
    ['503', 503, {}, 'overload'],
    ['500', 500, { error: { code: null, type: 'server_error' } }, 'http'],
    ['an overload inside a 200', 200, { error: { type: 'overloaded_error', message: 'busy' } }, 'overload'],
    ['a 502 of the model inside a 200', 200, { error: { code: 502, message: 'upstream' } }, 'http'],
  ])('%s is retried without an idempotency key [S0.6]', async (_, status, body, kind) => {
    expect(await requestsAfter(status, body)).toMatchObject({ requests: 2, kind });
  });

  test.each<[string, number, object, string]>([
    ['a spent quota', 429, { error: { code: 'insufficient_quota', type: 'insufficient_quota' } }, 'quota'],
    ['a content filter as a 400', 400, { error: { code: 'content_filter', status: 400 } }, 'invalid'],
    ['a wrong key', 401, { error: { code: 'invalid_api_key' } }, 'auth'],
    ['a spent quota inside a 200', 200, { error: { code: 'insufficient_quota' } }, 'quota'],
    ['an error nobody knows inside a 200', 200, { error: { message: 'hm' } }, 'unknown'],
    ['refused content', 200, completion(null, 'content_filter'), 'invalid'],
    ['an answer without a message', 200, { choices: [] }, 'invalid'],
  ])('%s is never asked for again [S0.2] [S0.6]', async (_, status, body, kind) => {
    expect(await requestsAfter(status, body)).toMatchObject({ requests: 1, waits: [], kind });
  });

  test('the hint of the provider is waited for; one above a minute ends the call at once [S0.6]', async () => {
    expect(await requestsAfter(429, {}, { 'retry-after': '30' })).toMatchObject({ requests: 2, waits: [30_000] });
    expect(await requestsAfter(529, {}, { 'retry-after-ms': '4500' })).toMatchObject({ requests: 2, waits: [4_500] });
    expect(await requestsAfter(429, {}, { 'retry-after': '61' })).toMatchObject({ requests: 1, waits: [] });
    expect(await requestsAfter(503, {}, { 'x-should-retry': 'false' })).toMatchObject({ requests: 1 });
  });

  test('refused content is an error of its own [S0.6]', async () => {
    await using service = await startService((_, response) =>
      sendJson(response, 200, completion('', 'content_filter')),
    );
    await expect(llm({ baseUrl: service.url }).chat(ASK)).rejects.toMatchObject({
      code: 'LLM_CONTENT_REFUSED',
      details: { finishReason: 'content_filter' },
    });
  });

  test('with a schema the reply is checked JSON; one that does not fit is asked for once [S0.2] [S0.6]', async () => {
    const replies = ['{"city":"Oslo"}', '{"city":7}', '{"city":'];
    await using service = await startService((_, response, i) => sendJson(response, 200, completion(replies[i] ?? '')));
    const client = llm({ baseUrl: service.url, ...fastWaits().options });
    const schema = z.object({ city: z.string() });
    const good = await client.chat({ ...ASK, schema });
    expectTypeOf(good.reply).toEqualTypeOf<{ city: string }>();
    expect(good.reply).toEqual({ city: 'Oslo' });
    const wrong = { code: 'HTTP_BODY_INVALID', details: { problem: 'the schema refuses reply.city' } };
    await expect(client.chat({ ...ASK, schema })).rejects.toMatchObject(wrong);
    const cut: unknown = await client.chat({ ...ASK, schema }).catch((e: unknown) => e);
    expect(cut).toMatchObject({ code: 'HTTP_BODY_INVALID', details: { problem: 'the schema refuses reply' } });
    expect(answerOf(cut)?.text).toContain('city');
    expect(service.seen).toHaveLength(3);
  });

  test('takes the policy that waits for hours, and a classifier of the caller [S0.6]', async () => {
    await using service = await startService((_, response, i) =>
      sendJson(response, i < 4 ? 529 : 200, completion('at last')),
    );
    const { options, waits } = fastWaits();
    expect(await llm({ baseUrl: service.url, policy: llmProvider, ...options }).chat(ASK)).toMatchObject({
      attempts: 5,
    });
    expect(waits).toEqual([5_000, 10_000, 30_000, 60_000]);
    // That policy leaves the bound of an attempt to streams; a chat has its own.
    expect(service.seen[0]?.headers['x-timeout-ms']).toBe('120000');
    await using strict = await startService((_, response) => sendJson(response, 529, {}));
    await expect(llm({ baseUrl: strict.url, classify: () => 'fail', ...options }).chat(ASK)).rejects.toMatchObject({
      code: 'HTTP_STATUS',
    });
    expect(strict.seen).toHaveLength(1);
  });

  test('a provider that accepts and says nothing ends the attempt after two minutes [S0.6]', async () => {
    let arrived = (): void => {};
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await using service = await startSocketService(() => arrived());
    const { options, time } = fastWaits();
    const failing = llm({ baseUrl: service.url, policy: { maxAttempts: 1, timeoutMs: 120_000 }, ...options })
      .chat(ASK)
      .catch((e: unknown) => e);
    await arrival;
    await time.advance(120_000);
    expect(await failing).toMatchObject({ code: 'HTTP_NO_ANSWER', cause: { code: 'ATTEMPT_TIMEOUT' } });
    await closing(service.sockets[0]);
  });

  test('a refusal of the model is refused content, and is not asked for again [S0.2] [S0.6]', async () => {
    const message = { role: 'assistant', content: null, refusal: 'I will not.' };
    await using service = await startService((_, response) =>
      sendJson(response, 200, { choices: [{ message, finish_reason: 'stop' }] }),
    );
    const error: unknown = await llm({ baseUrl: service.url, ...fastWaits().options })
      .chat(ASK)
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'LLM_CONTENT_REFUSED', details: { finishReason: 'refusal' } });
    expect(String(error)).not.toContain('I will not');
    expect(service.seen).toHaveLength(1);
  });

  test('calls of tools are part of the reply, which may have no text then [S0.6]', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
    const contents = [null, 'Let me look.', '', '{"city":"Oslo"}'];
    await using service = await startService((_, response, i) => {
      const message = { role: 'assistant', content: contents[i], refusal: null, tool_calls: [call] };
      sendJson(response, 200, { choices: [{ message, finish_reason: 'tool_calls' }] });
    });
    const client = llm({ baseUrl: service.url });
    const fields = { tools: [{ type: 'function', function: { name: 'weather' } }] };
    const silent = await client.chat({ ...ASK, fields });
    expectTypeOf(silent.reply).toEqualTypeOf<string | undefined>();
    expect(silent).toMatchObject({ reply: undefined, finishReason: 'tool_calls', toolCalls: [call] });
    expect(await client.chat({ ...ASK, fields })).toMatchObject({ reply: 'Let me look.', toolCalls: [call] });
    const schema = z.object({ city: z.string() });
    for (const _ of contents.slice(2)) {
      const typed = await client.chat({ ...ASK, fields, schema });
      expectTypeOf(typed.reply).toEqualTypeOf<{ city: string } | undefined>();
      expect(typed).toMatchObject({ reply: undefined, toolCalls: [call] });
    }
  });

  test('calls of tools nobody offered, and calls without an id, are no reply [S0.6]', async () => {
    const toolCalls = [[{ id: 'call_1' }], [{ id: 7 }], 'none', [{ id: 'a', function: { name: 'x' } }]];
    await using service = await startService((_, response, i) => {
      const message = { role: 'assistant', content: null, tool_calls: toolCalls[i] };
      sendJson(response, 200, { choices: [{ message, finish_reason: 'tool_calls' }] });
    });
    const client = llm({ baseUrl: service.url });
    const wrong = { code: 'HTTP_BODY_INVALID' };
    await expect(client.chat(ASK)).rejects.toMatchObject(wrong);
    for (const _ of toolCalls.slice(1)) {
      await expect(client.chat({ ...ASK, fields: { tools: [] } })).rejects.toMatchObject(wrong);
    }
  });

  test('a reply without calls has an empty list of them [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, completion('hi')));
    expect(await llm({ baseUrl: service.url }).chat(ASK)).toMatchObject({ reply: 'hi', toolCalls: [] });
  });

  test.each([
    [{ maxAttempts: 5 }, undefined, '120000'],
    [{ maxAttempts: 5, timeoutMs: 30_000 }, undefined, '30000'],
    [{ maxAttempts: 5 }, 4_000, '4000'],
    [policy({ timeoutMs: 20_000 }), undefined, '20000'],
  ])('with the policy %j and timeoutMs %j an attempt has %s ms [S0.6]', async (given, timeoutMs, header) => {
    await using service = await startService((_, response) => sendJson(response, 200, completion('hi')));
    await llm({ baseUrl: service.url, policy: given }).chat({ ...ASK, timeoutMs });
    expect(service.seen[0]?.headers['x-timeout-ms']).toBe(header);
  });
});
