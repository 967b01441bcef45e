import { HoldfastError } from '../../kernel/error.ts';
import { sha256 } from '../../system/sha256.ts';
import type { BodyFacts, RequestFacts } from './request-facts.ts';

/** The facts of a request of the Fetch standard. Its body is read from a copy, so that the handler can still read it. */
export function fetchRequestFacts(request: Request, maxBytes: number): RequestFacts {
  return factsWithBody(request, async () => {
    if (request.bodyUsed) throw new HoldfastError('IDEMPOTENCY_BODY_GONE', {});
    return readFetchBody(request.body === null ? request : request.clone(), maxBytes);
  });
}

/** The same where `body` knows another way to read the body. */
export function factsWithBody(request: Request, body: RequestFacts['body']): RequestFacts {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    path: pathname,
    query: search,
    route: undefined,
    header: (name) => {
      const value = request.headers.get(name);
      return value === null ? [] : [value];
    },
    body,
  };
}

async function readFetchBody(request: Request, maxBytes: number): Promise<BodyFacts> {
  const bytes = await readBytes(request, maxBytes);
  return bytes === undefined ? { kind: 'too-large' } : bytesFacts(bytes, request.headers.get('content-type') ?? '');
}

/** What the bytes of a body say: JSON and forms are compared by that, anything else by its bytes. */
export async function bytesFacts(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<BodyFacts> {
  if (bytes.length === 0) return { kind: 'none' };
  if (/^[^;]*[/+]json\b/i.test(type)) {
    try {
      return { kind: 'parsed', value: parseExactly(new TextDecoder().decode(bytes)) };
    } catch {
      return { kind: 'bytes', bytes };
    }
  }
  // The line between the parts of a form is made anew for each request.
  if (/^multipart\/form-data\b/i.test(type)) {
    try {
      const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
      return { kind: 'parsed', value: await Promise.all([...form].map(formPart)) };
    } catch {
      return { kind: 'bytes', bytes };
    }
  }
  return { kind: 'bytes', bytes };
}

/** Whole numbers that JavaScript would round stay as they were written: two of them may be two accounts. */
function parseExactly(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text);
}

function exactNumber(_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  const isRounded = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '');
  return isRounded ? BigInt(source ?? '') : value;
}

async function formPart([name, value]: [string, FormDataEntryValue]): Promise<readonly string[]> {
  if (typeof value === 'string') return [name, value];
  return [name, value.name, value.type, sha256(new Uint8Array(await value.arrayBuffer()))];
}

/** The whole body, or `undefined` as soon as it is known to be larger than `maxBytes`. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    size += value.length;
    if (size > maxBytes) {
      // Not waited for: one copy of a body is cancelled when the other one is.
      reader?.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(value);
  }
  return joined(chunks, size);
}

/** All chunks as one. */
export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
