import { createHash, createHmac } from 'node:crypto';

/** The keys of the test sender. */
export const KEYS = { currentKey: 'sig_current_0123456789', nextKey: 'sig_next_0123456789' } as const;

/** How to make a token that is not as QStash makes it. */
export interface TokenOptions {
  readonly key?: string;
  readonly alg?: 'HS256' | 'HS384' | 'HS512' | 'none';
  readonly claims?: Readonly<Record<string, unknown>>;
  /** With which algorithm it is signed, whatever it says. */
  readonly signedAs?: 'HS256';
  /** Claims that are left out. */
  readonly without?: readonly string[];
}

/** A token for a body, as QStash signs it unless told otherwise. */
export function qstashToken(body: string | Uint8Array, options: TokenOptions = {}): string {
  const { key = KEYS.currentKey, alg = 'HS256', signedAs = alg, claims = {}, without = [] } = options;
  const now = Math.floor(Date.now() / 1_000);
  const all: Record<string, unknown> = {
    iss: 'Upstash',
    sub: 'https://example.com/jobs',
    iat: now,
    nbf: now - 1,
    exp: now + 300,
    jti: `jwt_${createHash('sha256').update(`${now} ${Math.random()}`).digest('hex').slice(0, 12)}`,
    body: createHash('sha256').update(body).digest('base64url'),
    ...claims,
  };
  for (const name of without) delete all[name];
  const text = [{ alg, typ: 'JWT' }, all]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const hash = `sha${signedAs === 'none' ? '256' : signedAs.slice(2)}`;
  return `${text}.${signedAs === 'none' ? '' : createHmac(hash, key).update(text).digest('base64url')}`;
}
