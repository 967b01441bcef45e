import { createHmac, hash } from 'node:crypto';

/** What a signature of QStash is made of. */
export interface QstashSignature {
  /** `sig_…`, as it is written: its letters are the key. */
  readonly key: string;
  /** The destination, letter for letter: receivers compare it so. */
  readonly url: string;
  /** As it goes out. */
  readonly body: Uint8Array | string;
  readonly nowMs: number;
  /** Of this attempt alone. */
  readonly tokenId: string;
}

const HEAD = encoded({ alg: 'HS256', typ: 'JWT' });
// What QStash gives: long enough for a slow network, short enough that a stolen one is soon worth nothing.
const VALID_S = 300;

/** The value of `Upstash-Signature`: a token that is valid for five minutes, for one address and one body. */
export function signQstash({ key, url, body, nowMs, tokenId }: QstashSignature): string {
  const nowS = Math.floor(nowMs / 1_000);
  const claims = encoded({
    iss: 'Upstash',
    sub: url,
    exp: nowS + VALID_S,
    // Not later than now by any clock that is a little behind: receivers give no tolerance unless they are told to.
    nbf: 0,
    iat: nowS,
    jti: tokenId,
    body: hash('sha256', body, 'base64url'),
  });
  const signed = `${HEAD}.${claims}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
