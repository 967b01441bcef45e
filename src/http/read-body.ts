import type { Effects } from '../kernel/effects.ts';

type Body = ReadableStream<Uint8Array> | null;

/**
 * The whole body, or `'too-large'` as soon as it is known to be longer than `limitBytes` (after decompression, so a small
 * answer cannot unpack into a large one). What is left unread is cancelled, so the connection is not held.
 */
export async function readBytes(
  response: Response,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | 'too-large'> {
  const body: Body = response.body;
  // Before the length is looked at: with HEAD it is that of the body a GET would get.
  if (!body) return new Uint8Array();
  const announced = response.headers.has('content-encoding') ? 0 : Number(response.headers.get('content-length') ?? 0);
  if (announced > limitBytes) {
    discard(body);
    return 'too-large';
  }
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    size += piece.value.byteLength;
    if (size > limitBytes) {
      reader.cancel().catch(ignore);
      return 'too-large';
    }
    chunks.push(piece.value);
  }
  return joined(chunks, size);
}

/**
 * The first bytes of a body, at most `limitBytes` and at most what comes within `withinMs`; the rest is cancelled. Never
 * rejects: the status of a failed answer is known, and a body that breaks off or hangs must not hide it.
 */
export async function readStart(
  response: Response,
  bounds: { readonly limitBytes: number; readonly withinMs: number; readonly effects: Effects },
): Promise<Uint8Array<ArrayBuffer>> {
  const body: Body = response.body;
  if (!body) return new Uint8Array();
  const { limitBytes, withinMs, effects } = bounds;
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(ignore);
  const timer = effects.setTimer(cancel, withinMs);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < limitBytes) {
      const piece = await reader.read();
      if (piece.done) break;
      chunks.push(piece.value);
      size += piece.value.byteLength;
    }
  } catch {
    // Cut off: what has come is what there is.
  } finally {
    effects.clearTimer(timer);
    cancel();
  }
  return joined(chunks, size).slice(0, limitBytes);
}

/** Lets go of a body nobody will read. */
export function discard(body: Body): void {
  body?.cancel().catch(ignore);
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

const ignore = (): void => {};
