import { sha256 } from './sha256.ts';

const BLOCK = 64;
const INNER = 0x36;
const OUTER = 0x5c;

/** The HMAC-SHA-256 of a text under a key, both as UTF-8, as base64url without padding: 43 characters (RFC 2104). */
export function hmacSha256(key: string, text: string): string {
  const block = keyBlock(key);
  const inner = sha256(joined(block, INNER, new TextEncoder().encode(text)));
  return sha256(joined(block, OUTER, bytesOf(inner)));
}

function keyBlock(key: string): Uint8Array {
  const bytes = new TextEncoder().encode(key);
  const block = new Uint8Array(BLOCK);
  block.set(bytes.length > BLOCK ? bytesOf(sha256(bytes)) : bytes);
  return block;
}

function joined(block: Uint8Array, pad: number, rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(BLOCK + rest.length);
  for (const [at, byte] of block.entries()) bytes[at] = byte ^ pad;
  bytes.set(rest, BLOCK);
  return bytes;
}

function bytesOf(base64url: string): Uint8Array {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
