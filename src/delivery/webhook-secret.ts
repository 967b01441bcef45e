/** What begins the text of a shared secret. */
const PREFIX = 'whsec_';
const MIN_BYTES = 24;
const MAX_BYTES = 64;
const NEW_BYTES = 32;

/** A new secret that can be given to a receiver: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return PREFIX + btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(NEW_BYTES))));
}

/** The bytes of a secret; nothing: it is not `whsec_` and 24 to 64 bytes in base64. */
export function webhookSecretBytes(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 === 1) return undefined;
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return bytes.length < MIN_BYTES || bytes.length > MAX_BYTES ? undefined : bytes;
  } catch {
    return undefined;
  }
}
