import type { IncomingMessage } from 'node:http';

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 413 | 415; readonly problem: string };

/** The request's body as JSON, or what is wrong with it. Reads at most `maxBytes`. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<JsonBody> {
  // A page of another site can send a form, but not this type without asking first; so it cannot act for the user here.
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\b/i.test(type)) {
    return { ok: false, status: 415, problem: 'send the body as JSON, with content-type: application/json' };
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return { ok: false, status: 413, problem: `send at most ${maxBytes} bytes` };
    chunks.push(chunk);
  }
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch {
    return { ok: false, status: 400, problem: 'the body is not valid JSON' };
  }
}
