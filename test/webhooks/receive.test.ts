import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { TerminalHandlerError } from '../../src/retry/terminal-handler-error.ts';
import { qstash, signedJobs } from '../../src/webhooks/index.ts';
import { receiver, type Sent } from './receiver.ts';
import { KEYS, qstashToken } from './sign.ts';

test('a job is done once, however often it is delivered [S3.3]', async () => {
  const { send, effects } = await receiver({});
  const statuses = [];
  for (const retried of [0, 1, 2]) statuses.push((await send({ id: 'm1', retried })).status);
  expect(statuses).toEqual([200, 200, 200]);
  expect(effects).toEqual(['{"id":7}']);
});

test('deliveries at once: one does it, the others are told to come again [S3.3]', async () => {
  let open = (): void => undefined;
  const door = new Promise<void>((resolve) => (open = resolve));
  const { send, effects } = await receiver({}, (done) => async () => {
    done.push('began');
    await door;
  });
  const first = send({ id: 'm1' });
  await expect.poll(() => effects.length).toBe(1);
  const others = await Promise.all(Array.from({ length: 50 }, () => send({ id: 'm1' })));
  expect(new Set(others.map(({ status, headers }) => `${status} ${headers.has('retry-after')}`))).toEqual(
    new Set(['409 true']),
  );
  open();
  expect((await first).status).toBe(200);
  expect((await send({ id: 'm1' })).status).toBe(200);
  expect(effects).toHaveLength(1);
});

test('what was published twice has one effect when it is about the same thing [S3.3]', async () => {
  const { send, effects } = await receiver<{ id: number }>({ businessKey: ({ id }) => `reminder-${id}` });
  expect((await send({ id: 'm1' })).status).toBe(200);
  expect((await send({ id: 'm2' })).status).toBe(200);
  expect((await send({ id: 'm3', body: '{"id":8}' })).status).toBe(200);
  expect(effects).toEqual(['{"id":7}', '{"id":8}']);
});

test('a handler that fails is tried again, with the same keys for its own calls [S3.3] [S3.5]', async () => {
  const keys: string[] = [];
  const { send, effects, log } = await receiver({ businessKey: () => 'k' }, (done) => (_payload, run) => {
    keys.push(run.childKey('mail'));
    if (run.attempt < 3) throw new Error('mail server away');
    done.push(`attempt ${run.attempt}`);
  });
  const statuses = [];
  for (const retried of [0, 1, 2, 3]) statuses.push((await send({ id: 'm1', retried })).status);
  expect(statuses).toEqual([500, 500, 200, 200]);
  expect(effects).toEqual(['attempt 3']);
  expect(new Set(keys).size).toBe(1);
  expect(log).toEqual([]);
});

test('what can never work goes to the dead letters at once, and a later delivery of it may run [S3.5]', async () => {
  let isBroken = true;
  const { send, effects, log } = await receiver({}, (done) => () => {
    if (isBroken) throw new TerminalHandlerError('no such user');
    done.push('done');
  });
  const refused = await send({ id: 'm1' });
  expect([refused.status, refused.headers.get('upstash-nonretryable-error')]).toEqual([489, 'true']);
  expect(log).toMatchObject([
    { level: 'error', fields: { operation: 'send-reminder', eventId: 'm1', attempt: 1, retryable: false } },
  ]);
  isBroken = false;
  expect((await send({ id: 'm1' })).status).toBe(200);
  expect(effects).toEqual(['done']);
});

test('a body that is no JSON, or does not fit, goes to the dead letters [S3.5]', async () => {
  const { send, effects } = await receiver({ schema: z.object({ id: z.number() }) });
  for (const body of ['{', '{"id":"seven"}', '', Uint8Array.of(0x22, 0xff, 0x22)])
    expect([body, (await send({ body })).status]).toEqual([body, 489]);
  expect((await send({})).status).toBe(200);
  expect(effects).toEqual(['{"id":7}']);
});

test('the last attempt that fails is logged once [S3.4]', async () => {
  const { send, log } = await receiver({ retries: 2 }, () => () => {
    throw new Error('away');
  });
  for (const retried of [0, 1, 2]) await send({ id: 'm1', retried });
  expect(log).toMatchObject([{ level: 'error', fields: { attempt: 3, maxAttempts: 3, retryable: true } }]);
});

test('a body over the limit is refused for good before anything is parsed or checked, whatever its length says [S3.2]', async () => {
  const { url, send, effects } = await receiver({ maxBodyBytes: 1_000 });
  const body = JSON.stringify({ text: 'x'.repeat(2_000) });
  const refused = await send({ body });
  expect([refused.status, refused.headers.get('upstash-nonretryable-error')]).toEqual([489, 'true']);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const lines = [
    'POST /jobs HTTP/1.1',
    'Host: x',
    'Transfer-Encoding: chunked',
    'Upstash-Message-Id: m',
    `Upstash-Signature: ${qstashToken(body)}`,
  ];
  // It never ends: what was read so far is too much.
  socket.write(`${lines.join('\r\n')}\r\n\r\n${(1_500).toString(16)}\r\n${'x'.repeat(1_500)}\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain('HTTP/1.1 489');
  expect(effects).toEqual([]);
});

test('requests that are forged have no effect and leave no trace [S3.2]', async () => {
  const { send, effects, log } = await receiver({});
  const other = qstashToken('{"id":8}');
  const forged: Sent[] = [
    { token: { key: 'sig_other' } },
    { token: '' },
    { token: 'x.y.z' },
    { token: other },
    { token: { claims: { exp: 1 } } },
    { token: { alg: 'none' } },
    { token: { claims: { iss: 'me' } } },
  ];
  for (const sent of forged) {
    const answer = await send({ ...sent, id: 'm1' });
    expect(answer.status).toBe(401);
    if (typeof sent.token === 'string' && sent.token.length > 5) expect(await answer.text()).not.toContain(sent.token);
  }
  expect([effects, log]).toEqual([[], []]);
  expect((await send({ id: 'm1' })).status).toBe(200);
});

test('a request that was seen and is sent again under another id has no effect [S3.2]', async () => {
  const { send, effects } = await receiver({});
  const token = qstashToken('{"id":7}');
  expect((await send({ id: 'm1', token })).status).toBe(200);
  expect((await send({ id: 'm1', token })).status).toBe(200);
  expect((await send({ id: 'm2', token })).status).toBe(401);
  expect(effects).toHaveLength(1);
});

test('while the store does not answer, nothing is done [S3.3]', async () => {
  const store = memoryIdempotency();
  for (const claim of [() => Promise.reject(new Error('away')), () => new Promise<never>(() => undefined)]) {
    const { send, effects } = await receiver({}, undefined, { ...store, claim });
    const answer = await send();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(effects).toEqual([]);
  }
});

test('jobs with wrong options are refused with what to write [S3.3]', async () => {
  const receive = signedJobs({
    idempotency: idempotency({ service: 's', store: memoryIdempotency() }),
    scheme: qstash(KEYS),
  });
  expect(() => receive({ name: '', lockTtlSeconds: 0, buisnessKey: 1 } as never, () => undefined)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining('businessKey') }),
  );
  expect(() => qstash({ currentKey: '', nextKey: 'x' })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  expect(() => signedJobs({} as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
});
