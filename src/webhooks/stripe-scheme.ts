import { OptionCheck } from '../kernel/check-options.ts';
import { checkSeconds, checkSecrets, HmacSecrets, jsonFields, refused, sentAt, withHead } from './hmac-scheme.ts';
import type { SignatureScheme } from './verdict.ts';

/** The secrets of an endpoint of Stripe. */
export interface StripeWebhooksOptions {
  /** `whsec_…`, as the dashboard or `stripe listen` shows it. Any of them is accepted, so that they can be changed without a gap. */
  readonly secrets: readonly string[];
  /** How old, or how far ahead, a message may be, in seconds. Default 300, as in Stripe's own library. */
  readonly toleranceS?: number | undefined;
  /** For how long Stripe may send an event again, in seconds: so long it is remembered at least. Default four days; Stripe tries for three. */
  readonly retriesForS?: number | undefined;
}

/**
 * Webhooks of Stripe: the header `Stripe-Signature` with `t=` and `v1=`. The message id is the id of the event, which is the same in
 * every try and for every endpoint.
 */
export function stripeWebhooks(options: StripeWebhooksOptions): SignatureScheme {
  const check = new OptionCheck('stripeWebhooks()');
  if (check.object('options', options, "pass { secrets: ['whsec_…'] }")) {
    check.known(options, ['secrets', 'toleranceS', 'retriesForS']);
    checkSecrets(check, options.secrets, 'whsec_… as the dashboard of Stripe shows it');
    checkSeconds(check, 'toleranceS', options.toleranceS, 1, 86_400);
    checkSeconds(check, 'retriesForS', options.retriesForS, 0, 31_536_000);
  }
  check.done();
  const { toleranceS = 300, retriesForS = 345_600 } = options;
  const secrets = new HmacSecrets(options.secrets);
  return {
    name: 'stripe',
    retriesForS,
    // Stripe takes everything but 2xx for a failure that may pass.
    final: { status: 422, headers: {} },
    verify: async (headers, body, nowMs) => {
      const header = headers.get('stripe-signature');
      if (header === null) return refused('the header Stripe-Signature is missing');
      const parts = header.split(',').map((part) => part.split('='));
      const valuesOf = (name: string): string[] => parts.flatMap(([key, value = '']) => (key === name ? [value] : []));
      const [time, ...more] = valuesOf('t');
      if (time === undefined || more.length > 0) return refused('the header Stripe-Signature does not tell one time');
      const when = sentAt(time, toleranceS, nowMs);
      if ('problem' in when) return refused(when.problem);
      if (!(await secrets.haveSigned(withHead(`${time}.`, body), valuesOf('v1'))))
        return refused('no signature is by one of the secrets');
      const { id } = jsonFields(body);
      if (typeof id !== 'string' || id === '') return refused('the body has no id of an event');
      return {
        kind: 'verified',
        verified: {
          messageId: id,
          isIdSigned: true,
          attempt: 1,
          dedupId: undefined,
          validForMs: when.validForMs,
          once: undefined,
        },
      };
    },
  };
}
