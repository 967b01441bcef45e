import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { Receiver } from '@upstash/qstash';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { qstash, type SignatureScheme, standardWebhooks } from '../../src/webhooks/index.ts';
import { KEYS, qstashToken, type TokenOptions } from './sign.ts';

const BODY = '{"id":7,"text":"grüße"}';
const URL_SIGNED = 'https://example.com/jobs';

async function accepts(
  scheme: SignatureScheme,
  headers: Record<string, string>,
  body: string | Uint8Array = BODY,
): Promise<boolean> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  return (await scheme.verify(new Headers(headers), bytes, Date.now())).kind === 'verified';
}

async function acceptsQstash(token: string, body: string | Uint8Array = BODY, url?: string): Promise<boolean> {
  const headers = { 'upstash-signature': token, 'upstash-message-id': 'msg_1' };
  return accepts(qstash({ ...KEYS, ...(url === undefined ? {} : { url }) }), headers, body);
}

const receiver = new Receiver({ currentSigningKey: KEYS.currentKey, nextSigningKey: KEYS.nextKey });

async function theirs(token: string, body: string, url?: string): Promise<boolean> {
  try {
    return await receiver.verify({ signature: token, body, ...(url === undefined ? {} : { url }) });
  } catch {
    return false;
  }
}

const DIGEST = createHash('sha256').update(BODY).digest('base64url');
const otherFirst = (text: string): string => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;

const now = Math.floor(Date.now() / 1_000);
const SAME: Readonly<Record<string, readonly [TokenOptions, accepted: boolean, url?: string]>> = {
  'the current key': [{}, true],
  'the next key': [{ key: KEYS.nextKey }, true],
  'another key': [{ key: 'sig_other' }, false],
  'the right address': [{}, true, URL_SIGNED],
  'another address': [{}, false, `${URL_SIGNED}/`],
  'an address that goes on from the right one': [{ claims: { sub: `${URL_SIGNED}/x` } }, false, URL_SIGNED],
  'an end in the past': [{ claims: { exp: now - 5 } }, false],
  'a beginning in the future': [{ claims: { nbf: now + 60 } }, false],
  'a beginning of 0': [{ claims: { nbf: 0 } }, true],
  'another issuer': [{ claims: { iss: 'Someone' } }, false],
  'no issuer': [{ without: ['iss'] }, false],
  'no id': [{ without: ['jti'] }, true],
  'the digest of another body': [{ claims: { body: createHash('sha256').update('x').digest('base64url') } }, false],
  'a digest that differs at its beginning': [{ claims: { body: otherFirst(DIGEST) } }, false],
  'the beginning of the digest': [{ claims: { body: DIGEST.slice(0, 20) } }, false],
  'an empty digest': [{ claims: { body: '' } }, false],
  'a digest with padding': [{ claims: { body: `${createHash('sha256').update(BODY).digest('base64url')}=` } }, true],
  'no digest': [{ without: ['body'] }, false],
  'no algorithm': [{ alg: 'none' }, false],
  'the name of no algorithm': [{ alg: 'none', signedAs: 'HS256' }, false],
  'the name of another algorithm': [{ alg: 'HS512', signedAs: 'HS256' }, false],
};

describe('signatures of QStash', () => {
  test.each(Object.entries(SAME))(
    'with %s are judged as by its own receiver [S3.2]',
    async (_name, [options, accepted, url]) => {
      const token = qstashToken(BODY, options);
      expect([await acceptsQstash(token, BODY, url), await theirs(token, BODY, url)]).toEqual([accepted, accepted]);
    },
  );

  test.each([
    ['HS384', { alg: 'HS384' }],
    ['HS512', { alg: 'HS512' }],
    ['no end', { without: ['exp'] }],
  ] as const)('with %s are refused, which its own receiver accepts [S3.2]', async (_name, options) => {
    const token = qstashToken(BODY, options);
    expect([await acceptsQstash(token), await theirs(token, BODY)]).toEqual([false, true]);
  });

  test('are checked on the bytes, which need not be text [S3.2]', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    expect(await acceptsQstash(qstashToken(bytes), bytes)).toBe(true);
    expect(await acceptsQstash(qstashToken(''), '')).toBe(true);
    expect(await acceptsQstash(qstashToken(BODY), `${BODY} `)).toBe(false);
  });

  test('that are no tokens at all are refused, and never named in the answer [S3.2]', async () => {
    const good = qstashToken(BODY);
    for (const token of ['', 'x', 'a.b.c', 'a.b', `${good}.x`, good.slice(0, -3), '....', good.replace('.', '..')]) {
      const headers = new Headers({ 'upstash-signature': token, 'upstash-message-id': 'm' });
      const verdict = await qstash(KEYS).verify(headers, new TextEncoder().encode(BODY), Date.now());
      expect([token, verdict.kind]).toEqual([token, 'refused']);
      if (token.length > 3) expect(JSON.stringify(verdict)).not.toContain(token);
    }
  });

  test('end when they say, give or take what the clocks may differ [S3.2]', async () => {
    const token = qstashToken(BODY, { claims: { nbf: now, exp: now + 300 } });
    const headers = new Headers({ 'upstash-signature': token, 'upstash-message-id': 'm' });
    const body = new TextEncoder().encode(BODY);
    const at = async (seconds: number, clockToleranceS: number): Promise<string> =>
      (await qstash({ ...KEYS, clockToleranceS }).verify(headers, body, (now + seconds) * 1_000)).kind;
    const judged = [at(-1, 0), at(0, 0), at(299.9, 0), at(300, 0), at(-10, 10), at(-11, 10), at(309, 10), at(310, 10)];
    expect((await Promise.all(judged)).map((kind) => kind === 'verified')).toEqual([
      false,
      true,
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    expect(await qstash({ ...KEYS, clockToleranceS: 10 }).verify(headers, body, now * 1_000)).toMatchObject({
      verified: { validForMs: 310_000, once: expect.stringMatching(/^[\w-]{16}$/) },
    });
  });

  test('carry the name under which the sender drops repetitions, when somebody sends it on [S3.4]', async () => {
    const headers = new Headers({ 'upstash-signature': qstashToken(BODY), 'upstash-message-id': 'm' });
    const body = new TextEncoder().encode(BODY);
    const dedupId = async (): Promise<unknown> => {
      const verdict = await qstash(KEYS).verify(headers, body, Date.now());
      return verdict.kind === 'verified' && verdict.verified.dedupId;
    };
    expect(await dedupId()).toBeUndefined();
    headers.set('holdfast-deduplication-id', 'send-reminder:r-7');
    expect(await dedupId()).toBe('send-reminder:r-7');
    headers.set('upstash-deduplication-id', 'other');
    expect(await dedupId()).toBe('other');
  });

  test('need a message id, and tell the attempt [S3.3] [S3.4]', async () => {
    const headers = new Headers({ 'upstash-signature': qstashToken(BODY) });
    const body = new TextEncoder().encode(BODY);
    expect((await qstash(KEYS).verify(headers, body, Date.now())).kind).toBe('refused');
    headers.set('upstash-message-id', 'msg_1');
    headers.set('upstash-retried', '3');
    expect(await qstash(KEYS).verify(headers, body, Date.now())).toMatchObject({
      verified: { messageId: 'msg_1', attempt: 4 },
    });
  });
});

describe('signatures of Standard Webhooks', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const sent = (id = 'msg_1', at = new Date(), body = BODY, key = secret): Record<string, string> => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(key).sign(id, at, body),
  });
  const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);

  test('made by its own library are accepted, in any place of a list and with any of the secrets [S3.2]', async () => {
    const other = `whsec_${randomBytes(24).toString('base64')}`;
    const scheme = standardWebhooks({ secrets: [other, secret] });
    expect(await accepts(scheme, sent())).toBe(true);
    expect(await accepts(scheme, sent('msg_1', new Date(), BODY, other))).toBe(true);
    const headers = sent();
    headers['webhook-signature'] = `v1,AAAA v2,xyz ${headers['webhook-signature']}`;
    expect(await accepts(scheme, headers)).toBe(true);
  });

  test('of another body, id, time or secret are refused, and so are old and early ones [S3.2]', async () => {
    const scheme = standardWebhooks({ secrets: [secret] });
    const foreign = `whsec_${randomBytes(32).toString('base64')}`;
    expect(await accepts(scheme, sent(), `${BODY} `)).toBe(false);
    expect(await accepts(scheme, { ...sent(), 'webhook-id': 'msg_2' })).toBe(false);
    expect(await accepts(scheme, { ...sent(), 'webhook-timestamp': String(now - 1) })).toBe(false);
    expect(await accepts(scheme, sent('msg_1', new Date(), BODY, foreign))).toBe(false);
    expect(await accepts(scheme, sent('msg_1', ago(310)))).toBe(false);
    expect(await accepts(scheme, sent('msg_1', ago(-310)))).toBe(false);
    expect(await accepts(scheme, sent('msg_1', ago(290)))).toBe(true);
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const headers = sent();
      delete headers[name];
      expect([name, await accepts(scheme, headers)]).toEqual([name, false]);
    }
  });

  test('are not read beyond the twentieth, and say how long they are good for [S3.2]', async () => {
    const scheme = standardWebhooks({ secrets: [secret] });
    const at = new Date(now * 1_000);
    const headers = sent('msg_1', at);
    const last = headers['webhook-signature'];
    const many = (count: number): Headers =>
      new Headers({ ...headers, 'webhook-signature': [...Array<string>(count).fill('v1,AAAA'), last].join(' ') });
    const body = new TextEncoder().encode(BODY);
    expect(await scheme.verify(many(19), body, now * 1_000)).toMatchObject({ verified: { validForMs: 300_000 } });
    expect((await scheme.verify(many(20), body, now * 1_000)).kind).toBe('refused');
  });

  test('say by themselves of which version they are, and their id holds no dot [S3.2]', async () => {
    const scheme = standardWebhooks({ secrets: [secret] });
    const headers = sent();
    headers['webhook-signature'] = String(headers['webhook-signature']).replace('v1,', 'v1a,');
    expect(await accepts(scheme, headers)).toBe(false);
    expect(await accepts(scheme, sent('msg.1'))).toBe(false);
    expect(await accepts(scheme, sent('msg_1'))).toBe(true);
  });

  test('by a public key are accepted [S3.2]', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const scheme = standardWebhooks({ secrets: [`whpk_${raw.toString('base64')}`] });
    const at = String(Math.floor(Date.now() / 1_000));
    const signature = `v1a,${sign(null, Buffer.from(`m.${at}.${BODY}`), privateKey).toString('base64')}`;
    const headers = { 'webhook-id': 'm', 'webhook-timestamp': at, 'webhook-signature': signature };
    expect(await accepts(scheme, headers)).toBe(true);
    expect(await accepts(scheme, headers, `${BODY} `)).toBe(false);
  });

  test('need secrets that are secrets [S3.2]', () => {
    for (const secrets of [[], ['x'], ['whsec_'], ['whsec_!!!'], ['whpk_AAAA']]) {
      expect(() => standardWebhooks({ secrets })).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
    }
  });
});
