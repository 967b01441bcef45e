import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';

import { standardWebhooks } from '../webhooks/standard-scheme.ts';
import { signStandard } from './sign-standard.ts';
import { newWebhookSecret } from './webhook-secret.ts';

describe('signatures of Standard Webhooks', () => {
  test('What is signed by two secrets is verified by the library of Standard Webhooks and by ours with either, and by none else [X.8]', async () => {
    const [older, newer, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const text = '{"type":"order.paid","timestamp":"2026-05-01T00:00:00.000Z","data":{"name":"grüße"}}';
    const body = Buffer.from(text);
    const nowMs = Date.now();
    const messageId = '0198c0de-0000-7000-8000-000000000001';
    const headers = signStandard({ secrets: [newer, older], messageId, nowMs, body });
    expect(headers['webhook-timestamp']).toBe(String(Math.floor(nowMs / 1_000)));
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    for (const secret of [older, newer]) {
      expect(new Webhook(secret).verify(text, headers)).toMatchObject({ type: 'order.paid' });
      const scheme = standardWebhooks({ secrets: [secret] });
      expect(await scheme.verify(new Headers(headers), body, nowMs)).toMatchObject({
        kind: 'verified',
        verified: { messageId },
      });
    }
    expect(() => new Webhook(other).verify(text, headers)).toThrow('No matching signature found');
    expect(() => new Webhook(newer).verify(`${text} `, headers)).toThrow('No matching signature found');
  });

  test('Bytes that are no text are signed as they are [X.8]', async () => {
    const secret = newWebhookSecret();
    const body = Uint8Array.from([0, 255, 254, 128]);
    const nowMs = Date.now();
    const headers = signStandard({ secrets: [secret], messageId: 'msg-1', nowMs, body });
    expect(await standardWebhooks({ secrets: [secret] }).verify(new Headers(headers), body, nowMs)).toMatchObject({
      kind: 'verified',
    });
  });
});
