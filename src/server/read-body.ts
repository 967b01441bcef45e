import type { Problem } from './problem.ts';

type Body = { readonly body: Readonly<Record<string, unknown>> };

/** Reads a body as a JSON object, no more than `mostBytes` of it. An empty one is an empty object. */
export async function readJson(request: Request, mostBytes: number): Promise<Body | Problem> {
  const bytes = await readBytes(request, mostBytes);
  if (bytes === undefined) return tooLarge(mostBytes);
  if (bytes.length === 0) return { body: {} };
  const type = request.headers.get('content-type') ?? '';
  // Browsers send other types across origins without asking first.
  if (!/^application\/json\s*(;|$)/i.test(type)) return NOT_JSON_TYPE;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return NO_OBJECT;
    return { body: body as Record<string, unknown> };
  } catch {
    return NOT_JSON;
  }
}

/** The whole body; nothing where it is larger. */
export async function readBytes(request: Request, mostBytes: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) return undefined;
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > mostBytes) {
      await reader.cancel().catch(() => undefined);
      return undefined;
    }
    parts.push(part.value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function tooLarge(mostBytes: number): Problem {
  return {
    status: 413,
    code: 'BODY_TOO_LARGE',
    title: 'The body is too large',
    detail: `A body may have ${mostBytes} bytes.`,
    next: 'Send less, or raise maxBodyBytes of the server.',
    headers: { connection: 'close' },
  };
}

const WRITE_JSON = 'Send a JSON object with content-type: application/json.';
const NOT_JSON_TYPE: Problem = {
  status: 415,
  code: 'NOT_JSON',
  title: 'The body is not JSON',
  detail: 'Its content-type is not application/json.',
  next: WRITE_JSON,
};
const NOT_JSON: Problem = { ...NOT_JSON_TYPE, status: 400, detail: 'It cannot be read as JSON in UTF-8.' };
const NO_OBJECT: Problem = { ...NOT_JSON_TYPE, status: 400, detail: 'It is JSON, but no object.' };
