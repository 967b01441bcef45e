import type { KeptReply } from '../idempotency/idempotency-store.ts';

/** A reply as three texts: how the body is written, the head, the body. An empty first one: there is no reply. */
export type ReplyText = readonly [form: '' | 'none' | 'text' | 'base64', head: string, body: string];

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Bytes as a text that every client gives back as it was. Most replies are UTF-8 already and stay as they are; the others become
 * a third longer.
 */
export function replyToText(reply: KeptReply): ReplyText {
  const { head, body } = reply;
  if (body === undefined) return ['none', head, ''];
  try {
    return ['text', head, decoder.decode(body)];
  } catch {
    return ['base64', head, base64(body)];
  }
}

/** The reply again, from what a script answered. */
export function replyFromText(form: string, head: string, body: string): KeptReply | null {
  switch (form) {
    case '':
      return null;
    case 'none':
      return { head, body: undefined };
    case 'text':
      return { head, body: encoder.encode(body) };
    default:
      return { head, body: bytesOf(body) };
  }
}

// Wherever there is a client for Redis there is Node's Buffer, and nothing else is fast with a megabyte.
const { Buffer } = globalThis as unknown as { readonly Buffer: BufferMaker };

interface BufferMaker {
  from(bytes: ArrayBufferLike, from: number, length: number): { toString(encoding: 'base64'): string };
  from(text: string, encoding: 'base64'): Uint8Array;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function bytesOf(text: string): Uint8Array {
  // A copy: a small Buffer is a window into memory it shares with others.
  return new Uint8Array(Buffer.from(text, 'base64'));
}
