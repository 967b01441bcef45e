import { createHmac } from 'node:crypto';
import { sign } from '@octokit/webhooks-methods';
import { Stripe } from 'stripe';
import { githubWebhooks, type SignatureScheme, slackEvents, stripeWebhooks } from '../../src/webhooks/index.ts';

export const SECRET = 'whsec_0123456789abcdef';
export const NEXT = 'whsec_next_0123456789';

type Headers = Readonly<Record<string, string>>;

/** A sender as it signs: by its own package, but for Slack, which publishes only how to verify. */
export interface Sender {
  readonly name: string;
  readonly scheme: SignatureScheme;
  /** The headers of a body. `at` is when it is sent, in seconds. */
  sign(
    body: string,
    options?: { readonly secret?: string; readonly at?: number; readonly id?: string },
  ): Promise<Headers>;
  /** A body of an event. */
  body(id: string): string;
  /** The names of headers that its signature covers, or is. */
  readonly signed: readonly string[];
}

const nowS = (): number => Math.floor(Date.now() / 1_000);

export const SENDERS: readonly Sender[] = [
  {
    name: 'Stripe',
    scheme: stripeWebhooks({ secrets: [NEXT, SECRET] }),
    sign: async (payload, { secret = SECRET, at = nowS() } = {}) => ({
      'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at }),
    }),
    body: (id) => JSON.stringify({ id, object: 'event', type: 'invoice.paid', data: { object: { note: 'grüße' } } }),
    signed: ['stripe-signature'],
  },
  {
    name: 'GitHub',
    scheme: githubWebhooks({ secrets: [NEXT, SECRET] }),
    sign: async (body, { secret = SECRET, id = 'evt_1' } = {}) => ({
      'x-hub-signature-256': await sign(secret, body),
      'x-github-delivery': id,
    }),
    body: (id) => JSON.stringify({ ref: 'refs/heads/main', after: id, pusher: { name: 'grüße' } }),
    signed: ['x-hub-signature-256'],
  },
  {
    name: 'Slack',
    scheme: slackEvents({ secrets: [NEXT, SECRET] }),
    sign: async (body, { secret = SECRET, at = nowS() } = {}) => ({
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex')}`,
    }),
    body: (id) => JSON.stringify({ type: 'event_callback', event_id: id, event: { type: 'message', text: 'grüße' } }),
    signed: ['x-slack-request-timestamp', 'x-slack-signature'],
  },
];
