import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Claim, type Idempotency, idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { TerminalHandlerError } from '../../src/retry/terminal-handler-error.ts';
import { qstash, type SignatureScheme, signedJobs, standardWebhooks } from '../../src/webhooks/index.ts';
import { receiver } from './receiver.ts';
import { KEYS, qstashToken } from './sign.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

function standardSender(idem: Idempotency<never>): { send(): Promise<number> } {
  const post = signedJobs({ idempotency: idem, scheme: standardWebhooks({ secrets: [SECRET] }) })('s', () => undefined);
  const send = async (): Promise<number> => {
    const at = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(`m1.${at}.{}`).digest('base64');
    const headers = { 'webhook-id': 'm1', 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` };
    return (await post(new Request('http://localhost/', { method: 'POST', headers, body: '{}' }))).status;
  };
  return { send };
}

test('a request that was seen is not let in at another job [S3.2]', async () => {
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS) });
  const done: string[] = [];
  const [remind, pay] = ['remind', 'pay'].map((name) => receive(name, () => void done.push(name)));
  const headers = { 'upstash-signature': qstashToken('{}'), 'upstash-message-id': 'm1' };
  const request = (): Request => new Request('http://localhost/jobs', { method: 'POST', headers, body: '{}' });
  expect([(await remind?.(request()))?.status, (await pay?.(request()))?.status]).toEqual([200, 401]);
  expect(done).toEqual(['remind']);
});

test('a job is remembered for as long as its sender may try again, and asking for less is refused [S3.3] [X.16]', async () => {
  const claims: Claim[] = [];
  const memory = memoryIdempotency();
  const store = {
    ...memory,
    claim: (claim: Claim) => {
      claims.push(claim);
      return memory.claim(claim);
    },
  };
  const { send } = await receiver({ retries: 15 }, undefined, store);
  await send();
  expect(claims.at(-1)?.keepMs).toBe(10_000 * (2 ** 15 - 1));
  const idem = idempotency({ service: 'jobs', store });
  const make = (scheme: SignatureScheme, job: object): unknown =>
    signedJobs({ idempotency: idem, scheme })({ name: 'j', ...job }, () => undefined);
  const { send: sendStandard } = standardSender(idem);
  expect(await sendStandard()).toBe(200);
  expect(claims.at(-1)?.keepMs).toBe(4 * 86_400_000);
  expect(() => make(qstash(KEYS), { doneTtlSeconds: 309 })).toThrow('write 310 or more');
  expect(() => make(qstash(KEYS), { doneTtlSeconds: 310 })).not.toThrow();
  const secrets = [SECRET];
  expect(() => make(standardWebhooks({ secrets }), { doneTtlSeconds: 86_400 })).toThrow('write 345600 or more');
  expect(() => make(standardWebhooks({ secrets, retriesForS: 3_600 }), { doneTtlSeconds: 3_600 })).not.toThrow();
});

test('what a handler throws is told each time to who asks for it, and never decides anything [S3.4]', async () => {
  const told: unknown[] = [];
  const onError = (error: unknown, delivery: unknown): void => {
    told.push([(error as Error).message, delivery]);
    throw new Error('of the one who is told');
  };
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS), onError });
  const post = receive('send', (payload) => {
    throw payload === 1 ? new Error('away') : new TerminalHandlerError('never');
  });
  const send = async (body: string, retried: string): Promise<number> => {
    const headers = {
      'upstash-signature': qstashToken(body),
      'upstash-message-id': `m${body}`,
      'upstash-retried': retried,
    };
    return (await post(new Request('http://localhost/', { method: 'POST', headers, body }))).status;
  };
  expect([await send('1', '0'), await send('2', '1')]).toEqual([500, 489]);
  expect(told).toEqual([
    ['away', { job: 'send', messageId: 'm1', attempt: 1, isDead: false }],
    ['never', { job: 'send', messageId: 'm2', attempt: 2, isDead: true }],
  ]);
});
