import { describe, expect, test } from 'vitest';
import { codingAgent, commandId } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { closing, sendJson, startService, startSocketService } from './local-service.ts';

const KEY = 'opencode:user_123:run_456:interview-plan:prompt-v4';

describe('a coding agent', () => {
  test('every attempt of a prompt carries the same command id, as a header and in the body [S0.6]', async () => {
    await using service = await startService((_, response, i) =>
      sendJson(response, i < 2 ? 503 : 200, { info: { id: 'm1' }, parts: [] }),
    );
    const agent = codingAgent({ baseUrl: service.url, ...fastWaits().options });
    const message = { sessionId: 'ses_1', text: 'plan it', idempotencyKey: KEY, fields: { agent: 'build' } };
    const { data, commandId: id, attempts } = await agent.sendMessage(message);
    expect(attempts).toBe(3);
    expect(data).toEqual({ info: { id: 'm1' }, parts: [] });
    expect(id).toBe(await commandId('ses_1', KEY));
    expect(service.seen.map((one) => [one.url, one.headers['x-command-id'], one.headers['idempotency-key']])).toEqual(
      Array.from({ length: 3 }, () => ['/session/ses_1/message', id, KEY]),
    );
    const body = { agent: 'build', messageID: id, parts: [{ type: 'text', text: 'plan it' }] };
    expect(service.seen.map((one) => JSON.parse(one.body) as unknown)).toEqual([body, body, body]);
  });

  test('an agent that keeps command ids runs a prompt once, however often it is sent [S0.6]', async () => {
    const done = new Map<string, number>();
    await using service = await startService((request, response, i) => {
      const { messageID } = JSON.parse(request.body) as { messageID: string };
      const run = done.get(messageID) ?? done.size + 1;
      done.set(messageID, run);
      // The first answer is lost.
      if (i === 0) response.destroy();
      else sendJson(response, 200, { run });
    });
    const agent = codingAgent({ baseUrl: service.url, ...fastWaits().options });
    const first = await agent.sendMessage({ sessionId: 's', text: 'a', idempotencyKey: 'p:v1' });
    const again = await agent.sendMessage({ sessionId: 's', text: 'a', idempotencyKey: 'p:v1' });
    const next = await agent.sendMessage({ sessionId: 's', text: 'b', idempotencyKey: 'p:v2' });
    expect([first.data, again.data, next.data]).toEqual([{ run: 1 }, { run: 1 }, { run: 2 }]);
  });

  test('a session is made under its key, and refused when the answer has no id [S0.6]', async () => {
    await using service = await startService((_, response, i) =>
      sendJson(response, i === 0 ? 502 : 200, i === 2 ? {} : { id: 'ses_9' }),
    );
    const agent = codingAgent({ baseUrl: service.url, ...fastWaits().options });
    expect((await agent.createSession({ title: 'plan', idempotencyKey: 'k' })).data.id).toBe('ses_9');
    expect(service.seen.map((one) => [one.url, one.body, one.headers['idempotency-key']])).toEqual([
      ['/session', '{"title":"plan"}', 'k'],
      ['/session', '{"title":"plan"}', 'k'],
    ]);
    await expect(agent.createSession({ idempotencyKey: 'k2' })).rejects.toMatchObject({ code: 'HTTP_BODY_INVALID' });
  });

  test('a prompt is bounded by four minutes, or by what the caller says [S0.6]', async () => {
    const arrived: (() => void)[] = [];
    const arrivals = [0, 1].map((i) => new Promise<void>((resolve) => (arrived[i] = resolve)));
    await using service = await startSocketService((_, i) => arrived[i]?.());
    const { options, time } = fastWaits();
    const agent = codingAgent({ baseUrl: service.url, policy: { maxAttempts: 1 }, ...options });
    const message = { sessionId: 's', text: 'a', idempotencyKey: 'k' };
    for (const [i, timeoutMs] of [undefined, 1_000].entries()) {
      const failing = agent.sendMessage({ ...message, ...(timeoutMs ? { timeoutMs } : {}) }).catch((e: unknown) => e);
      await arrivals[i];
      await time.advance(timeoutMs ?? 240_000);
      expect(await failing).toMatchObject({ code: 'HTTP_NO_ANSWER', details: { timeoutMs: timeoutMs ?? 240_000 } });
      await closing(service.sockets[i]);
    }
  });

  test('is asked how it is where it answers that [S0.6]', async () => {
    await using service = await startService((_, response) =>
      sendJson(response, 200, { healthy: true, version: '1.0' }),
    );
    expect(await codingAgent({ baseUrl: service.url }).health()).toMatchObject({ kind: 'up' });
    expect(service.seen[0]?.url).toBe('/global/health');
  });

  test('refuses options that cannot work [S0.6]', () => {
    const made = (): unknown => codingAgent({ baseUrl: 'http://127.0.0.1', commandField: '', messageTimeoutMs: -1 });
    expect(made).toThrow(/commandField is.*messageTimeoutMs is -1/);
  });
});
