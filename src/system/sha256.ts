/** The SHA-256 of a text (as UTF-8) or of bytes, as base64url without padding: 43 characters. */
export const sha256: (data: string | Uint8Array) => string = nodeSha256() ?? portableSha256;

type NodeHash = (algorithm: string, data: string | Uint8Array, encoding: string) => string;

/** Node's own, a microsecond for a short text. Not imported, so that the package loads where there is no Node. */
function nodeSha256(): ((data: string | Uint8Array) => string) | undefined {
  const { process } = globalThis as {
    readonly process?: { readonly getBuiltinModule?: (id: string) => { readonly hash?: NodeHash } | undefined };
  };
  const hash = process?.getBuiltinModule?.('node:crypto')?.hash;
  return hash && ((data) => hash('sha256', data, 'base64url'));
}

// WebCrypto would be the other way, but it answers with a promise, and a key for a call to somebody else is asked for in the
// middle of a handler. The constants are the first 32 bits of the fractional parts of roots of primes: FIPS 180-4, 4.2.2, 5.3.3.
const PRIMES = firstPrimes(64);
const ROUND = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

/** The same in plain JavaScript, some 30 times slower. */
export function portableSha256(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) addBlock(state, words, view, at);
  return toBase64url(state);
}

function addBlock(state: Uint32Array, words: Uint32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [early, late] = [word(words, i - 15), word(words, i - 2)];
    const a = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const b = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[i] = word(words, i - 16) + a + word(words, i - 7) + b;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const chosen = (e & f) ^ (~e & g);
    const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + word(ROUND, i) + word(words, i);
    const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = word(state, i) + value;
}

function word(words: Uint32Array, at: number): number {
  return words[at] ?? 0;
}

function turned(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

function toBase64url(state: Uint32Array): string {
  const bytes = Array.from({ length: 32 }, (_, i) => (word(state, i >> 2) >>> (24 - 8 * (i % 4))) & 0xff);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace('=', '');
}
