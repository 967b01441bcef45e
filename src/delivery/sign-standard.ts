import { createHmac } from 'node:crypto';

import { webhookSecretBytes } from './webhook-secret.ts';

/** What is signed as Standard Webhooks says. */
export interface StandardSignature {
  /** `whsec_…`, all that are in use now: a receiver accepts any. */
  readonly secrets: readonly string[];
  /** Stays the same when it is tried again: receivers tell messages apart by it. Without a dot. */
  readonly messageId: string;
  /** Of this attempt. */
  readonly nowMs: number;
  /** As it goes out. */
  readonly body: Uint8Array | string;
}

/** The headers of Standard Webhooks 1.0.0: id, time of the attempt, and one `v1` signature for each secret. */
export function signStandard({ secrets, messageId, nowMs, body }: StandardSignature): Readonly<Record<string, string>> {
  const seconds = Math.floor(nowMs / 1_000);
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', webhookSecretBytes(secret) ?? '');
    return `v1,${hmac.update(`${messageId}.${seconds}.`).update(body).digest('base64')}`;
  });
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
}
