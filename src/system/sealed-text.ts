import { HoldfastError } from '../kernel/error.ts';

/** The least a secret must have: as many characters as the key has bytes. */
export const MIN_SECRET_LENGTH = 32;

const VERSION = 's1';
const IV_BYTES = 12;
const MARK_BYTES = 6;

interface SealingKey {
  readonly key: CryptoKey;
  /** Tells keys apart without telling anything about them. */
  readonly mark: string;
}

/**
 * Encrypts a text by AES-256-GCM under a key that is made of the secret: `s1.<mark of the key>.<iv>.<what is sealed>`. It opens only
 * for what it is bound to, so that it cannot be put elsewhere. Throws `SECRET_MISSING` without a secret of 32 characters.
 */
export async function seal(secret: string | undefined, text: string, boundTo = ''): Promise<string> {
  const { key, mark } = await keyOf(secret);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(cipher(iv, boundTo), key, new TextEncoder().encode(text));
  return [VERSION, mark, encode(iv), encode(new Uint8Array(sealed))].join('.');
}

/**
 * What `seal` was given. Throws `SECRET_MISSING` without a secret, `SECRET_WRONG` where another one sealed it, and
 * `SEALED_TEXT_DAMAGED` where it is not what was sealed.
 */
export async function open(secret: string | undefined, sealed: string, boundTo = ''): Promise<string> {
  const { key, mark } = await keyOf(secret);
  const [version, itsMark, iv, rest, ...more] = sealed.split('.');
  if (version !== VERSION || itsMark === undefined || iv === undefined || rest === undefined || more.length > 0)
    throw new HoldfastError('SEALED_TEXT_DAMAGED', {});
  if (itsMark !== mark) throw new HoldfastError('SECRET_WRONG', {});
  try {
    const text = await crypto.subtle.decrypt(cipher(decode(iv), boundTo), key, decode(rest));
    return new TextDecoder().decode(text);
  } catch (error) {
    throw new HoldfastError('SEALED_TEXT_DAMAGED', {}, { cause: error });
  }
}

function cipher(iv: Uint8Array<ArrayBuffer>, boundTo: string): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(boundTo) };
}

// A process has one secret and a few keys for payloads; one for each person is made again.
const MOST_KEYS = 64;
const keys = new Map<string, Promise<SealingKey>>();

function keyOf(secret: string | undefined): Promise<SealingKey> {
  if (secret === undefined || secret.length < MIN_SECRET_LENGTH)
    return Promise.reject(new HoldfastError('SECRET_MISSING', { least: MIN_SECRET_LENGTH }));
  const known = keys.get(secret);
  if (known !== undefined) return known;
  if (keys.size >= MOST_KEYS) keys.clear();
  const made = makeKey(secret);
  keys.set(secret, made);
  return made;
}

/** By HKDF: a secret of this length needs no stretching. The mark comes from the same, under another name. */
async function makeKey(secret: string): Promise<SealingKey> {
  const material = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), 'HKDF', false, [
    'deriveKey',
    'deriveBits',
  ]);
  const aes = { name: 'AES-GCM', length: 256 };
  const [key, mark] = await Promise.all([
    crypto.subtle.deriveKey(rules('sealed text'), material, aes, false, ['encrypt', 'decrypt']),
    crypto.subtle.deriveBits(rules('mark'), material, MARK_BYTES * 8),
  ]);
  return { key, mark: encode(new Uint8Array(mark)) };
}

function rules(info: string): HkdfParams {
  const salt = new Uint8Array();
  return { name: 'HKDF', hash: 'SHA-256', salt, info: new TextEncoder().encode(`holdfast ${info}`) };
}

// So many arguments a call takes in any engine.
const CHUNK = 8_192;

function encode(bytes: Uint8Array): string {
  let letters = '';
  for (let at = 0; at < bytes.length; at += CHUNK) letters += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  const text = btoa(letters);
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Throws on what is no base64url. */
function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}
