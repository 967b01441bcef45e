/** A body as it is kept: text where it is UTF-8, base64 where it is not. */
export type KeptBody = { readonly body?: string } | { readonly bodyBase64: string };

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** No bytes are no body. What comes out is byte for byte what went in. */
export function keptBody(bytes: Uint8Array): KeptBody {
  if (bytes.length === 0) return {};
  try {
    const body = UTF8.decode(bytes);
    // The database keeps no NUL in text.
    if (!body.includes('\u0000')) return { body };
  } catch {
    // No text.
  }
  return { bodyBase64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') };
}
