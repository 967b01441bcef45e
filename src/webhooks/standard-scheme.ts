import { OptionCheck } from '../kernel/check-options.ts';
import { fromBase64 } from './base64.ts';
import { hmacKey, isSigned } from './hmac-key.ts';
import { refused, withHead } from './hmac-scheme.ts';
import type { SignatureScheme } from './verdict.ts';

/** The secrets of a sender that signs as Standard Webhooks says. */
export interface StandardWebhooksOptions {
  /** `whsec_…` (shared) or `whpk_…` (the sender's public key). Any of them is accepted, so that secrets can be changed without a gap. */
  readonly secrets: readonly string[];
  /** How old, or how far ahead, a message may be, in seconds. Default 300. */
  readonly toleranceS?: number | undefined;
  /**
   * For how long after the first time the sender may try again, in seconds: so long a message is remembered at least. Default four
   * days: the tries that the specification recommends take three, and somewhat more by chance.
   */
  readonly retriesForS?: number | undefined;
}

// One for each secret that is in use: a sender that changes one has two.
const MOST_SIGNATURES = 20;

type Check = (data: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>) => Promise<boolean>;

interface Secret {
  readonly version: 'v1' | 'v1a';
  readonly check: Promise<Check>;
}

/** Signatures as standardwebhooks.com has them: headers `webhook-id`, `webhook-timestamp`, `webhook-signature`; v1 and v1a. */
export function standardWebhooks(options: StandardWebhooksOptions): SignatureScheme {
  const { secrets, toleranceS, retriesForS } = checked(options);
  return {
    retriesForS,
    name: 'standard-webhooks',
    // Senders that follow the specification take it for a failure like any other; there is no status that says "never again".
    final: { status: 422, headers: {} },
    verify: async (headers, body, nowMs) => {
      const [id, sentAt, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers.get(`webhook-${name}`));
      if (!id || !sentAt || !signatures) {
        return refused('one of the headers webhook-id, webhook-timestamp and webhook-signature is missing');
      }
      if (!/^\d{1,12}$/.test(sentAt)) return refused('the header webhook-timestamp is not a number of seconds');
      if (Math.abs(nowMs / 1_000 - Number(sentAt)) > toleranceS)
        return refused('it was sent too long ago, or is ahead of its time');
      // The parts are told apart by the dots.
      if (id.includes('.')) return refused('the header webhook-id holds a dot');
      if (!(await anySigned(secrets, withHead(`${id}.${sentAt}.`, body), signatures))) {
        return refused('no signature is by one of the secrets');
      }
      const validForMs = (Number(sentAt) + toleranceS) * 1_000 - nowMs;
      return {
        kind: 'verified',
        verified: { messageId: id, attempt: 1, dedupId: undefined, validForMs, once: undefined },
      };
    },
  };
}

async function anySigned(
  secrets: readonly Secret[],
  data: Uint8Array<ArrayBuffer>,
  signatures: string,
): Promise<boolean> {
  // Each is work on the whole body: a long list would be a way to keep us busy.
  for (const signature of signatures.split(' ', MOST_SIGNATURES)) {
    const [version = '', text = ''] = signature.split(',');
    const bytes = fromBase64(text, 'usual');
    if (bytes === undefined) continue;
    for (const secret of secrets) {
      if (secret.version === version && (await (await secret.check)(data, bytes))) return true;
    }
  }
  return false;
}

function checked(options: StandardWebhooksOptions): {
  readonly secrets: readonly Secret[];
  readonly toleranceS: number;
  readonly retriesForS: number;
} {
  const check = new OptionCheck('standardWebhooks()');
  const write = "pass { secrets: ['whsec_…'] }";
  const secrets: Secret[] = [];
  if (check.object('options', options, write)) {
    check.known(options, ['secrets', 'toleranceS', 'retriesForS']);
    if (!Array.isArray(options.secrets) || options.secrets.length === 0)
      check.refuse('secrets', options.secrets, write);
    for (const text of Array.isArray(options.secrets) ? options.secrets : []) {
      const secret = typeof text === 'string' ? readSecret(text) : undefined;
      if (secret === undefined) check.refuse('secrets', text, 'write whsec_ or whpk_ and base64');
      else secrets.push(secret);
    }
    if (options.toleranceS !== undefined)
      check.number('toleranceS', options.toleranceS, { min: 1, max: 86_400, write: 'write 1 to 86400 seconds' });
    if (options.retriesForS !== undefined)
      check.number('retriesForS', options.retriesForS, {
        min: 0,
        max: 31_536_000,
        write: 'write seconds up to a year',
      });
  }
  check.done();
  return { secrets, toleranceS: options.toleranceS ?? 300, retriesForS: options.retriesForS ?? 345_600 };
}

function readSecret(text: string): Secret | undefined {
  const [, kind, key = ''] = /^(whsec|whpk)_(.+)$/.exec(text) ?? [];
  const bytes = fromBase64(key, 'usual');
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (kind === 'whsec') {
    const check = hmacKey(bytes).then(
      (found): Check =>
        async (data, signature) =>
          isSigned(found, signature, data),
    );
    return { version: 'v1', check };
  }
  if (kind !== 'whpk' || bytes.length !== 32) return undefined;
  const check = crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']).then(
    (found): Check =>
      async (data, signature) =>
        crypto.subtle.verify('Ed25519', found, signature, data),
  );
  return { version: 'v1a', check };
}
