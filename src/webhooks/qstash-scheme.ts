import { OptionCheck } from '../kernel/check-options.ts';
import { sha256 } from '../system/sha256.ts';
import { fromBase64, isSame } from './base64.ts';
import { hmacKey, isSigned } from './hmac-key.ts';
import { refused } from './hmac-scheme.ts';
import { FORWARDED_DEDUP_ID } from './publish-job.ts';
import { ONCE_LETTERS, type SignatureScheme } from './verdict.ts';

/** The keys of QStash, and how strict to be. */
export interface QstashOptions {
  /** `QSTASH_CURRENT_SIGNING_KEY` */
  readonly currentKey: string;
  /** `QSTASH_NEXT_SIGNING_KEY`. Both are accepted, so that keys can be changed without a gap. */
  readonly nextKey: string;
  /** The address that QStash was told to call. When given, a signature for another address is refused. */
  readonly url?: string | undefined;
  /** How far the clocks may differ, in seconds. Default 0, as the sender's own library has it. */
  readonly clockToleranceS?: number | undefined;
}

interface Claims {
  readonly iss?: unknown;
  readonly sub?: unknown;
  readonly exp?: unknown;
  readonly nbf?: unknown;
  readonly jti?: unknown;
  readonly body?: unknown;
}

/**
 * Signatures of QStash: a token in the header `Upstash-Signature` that holds a digest of the body. Stricter than the sender's own
 * library where that accepts what QStash never sends: other algorithms, and tokens without an end.
 */
export function qstash(options: QstashOptions): SignatureScheme {
  checkQstashOptions(options);
  const { currentKey, nextKey, url, clockToleranceS = 0 } = options;
  const keys = Promise.all([currentKey, nextKey].map(async (key) => hmacKey(new TextEncoder().encode(key))));
  return {
    name: 'qstash',
    final: { status: 489, headers: { 'Upstash-NonRetryable-Error': 'true' } },
    verify: async (headers, body, nowMs) => {
      const token = headers.get('upstash-signature');
      if (token === null) return refused('the header Upstash-Signature is missing');
      const claims = await readToken(token, await keys);
      if (claims === undefined) return refused('the signature is not by one of the two keys');
      const problem = claimProblem(claims, body, { url, nowS: nowMs / 1_000, clockToleranceS });
      if (problem !== undefined) return refused(problem);
      const messageId = headers.get('upstash-message-id');
      if (messageId === null || messageId === '') return refused('the header Upstash-Message-Id is missing');
      const retried = Number(headers.get('upstash-retried') ?? 0);
      return {
        kind: 'verified',
        verified: {
          messageId,
          attempt: Number.isInteger(retried) && retried >= 0 ? retried + 1 : 1,
          dedupId: headers.get('upstash-deduplication-id') ?? headers.get(FORWARDED_DEDUP_ID) ?? undefined,
          validForMs: (Number(claims.exp) + clockToleranceS) * 1_000 - nowMs,
          // Not of the signature: that can be written in several ways.
          once: sha256(token.slice(0, token.lastIndexOf('.'))).slice(0, ONCE_LETTERS),
        },
      };
    },
  };
}

/** The claims of a token that one of the keys has signed. */
async function readToken(token: string, keys: readonly CryptoKey[]): Promise<Claims | undefined> {
  const [head = '', claims = '', signature = '', ...more] = token.split('.');
  const bytes = fromBase64(signature, 'url');
  const signed = new TextEncoder().encode(`${head}.${claims}`);
  if (more.length > 0 || bytes === undefined || readJson(head)?.['alg'] !== 'HS256') return undefined;
  for (const key of keys) if (await isSigned(key, bytes, signed)) return readJson(claims);
  return undefined;
}

function claimProblem(
  claims: Claims,
  body: Uint8Array,
  at: { readonly url: string | undefined; readonly nowS: number; readonly clockToleranceS: number },
): string | undefined {
  if (claims.iss !== 'Upstash') return 'the signature is of another issuer';
  if (typeof claims.exp !== 'number') return 'the signature has no end';
  if (claims.exp + at.clockToleranceS <= at.nowS) return 'the signature has expired';
  if (typeof claims.nbf === 'number' && claims.nbf - at.clockToleranceS > at.nowS)
    return 'the signature is not valid yet';
  if (at.url !== undefined && claims.sub !== at.url) return 'the signature is for another address';
  const digest = typeof claims.body === 'string' ? fromBase64(claims.body, 'url') : undefined;
  const found = fromBase64(sha256(body), 'url');
  if (digest === undefined || found === undefined || !isSame(digest, found)) return 'the signature is for another body';
  return undefined;
}

function readJson(part: string): Record<string, unknown> | undefined {
  const bytes = fromBase64(part, 'url');
  try {
    const found: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function checkQstashOptions(options: QstashOptions): void {
  const check = new OptionCheck('qstash()');
  if (check.object('options', options, 'pass { currentKey, nextKey }')) {
    check.known(options, ['currentKey', 'nextKey', 'url', 'clockToleranceS']);
    for (const name of ['currentKey', 'nextKey'] as const) {
      const key: unknown = options[name];
      if (typeof key !== 'string' || key === '') {
        check.refuse(name, key, `pass the value of QSTASH_${name === 'currentKey' ? 'CURRENT' : 'NEXT'}_SIGNING_KEY`);
      }
    }
    if (options.clockToleranceS !== undefined)
      check.number('clockToleranceS', options.clockToleranceS, { min: 0, max: 300, write: 'write 0 to 300 seconds' });
    if (options.url !== undefined && typeof options.url !== 'string')
      check.refuse('url', options.url, 'pass the full address');
  }
  check.done();
}
