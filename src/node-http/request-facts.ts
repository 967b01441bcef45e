import type { BodyFacts, RequestFacts } from '../idempotency/http/request-facts.ts';
import { HoldfastError } from '../kernel/error.ts';

/** What is used of Node's `IncomingMessage`, and of a request of HTTP/2. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** HTTP/2 does not have it: a header that was sent twice is one text with a comma there. */
  readonly headersDistinct?: Readonly<Record<string, readonly string[] | undefined>>;
  /** Of HTTP/2, where a body needs no header that tells of it. */
  readonly stream?: { readonly endAfterHeaders?: boolean };
}

/** The facts of a request whose body a parser has read. */
export function nodeRequestFacts(
  request: NodeRequest,
  url: string,
  route: string | undefined,
  body: unknown,
): RequestFacts {
  const at = url.indexOf('?');
  return {
    method: request.method ?? 'GET',
    path: at < 0 ? url : url.slice(0, at),
    query: at < 0 ? '' : url.slice(at),
    route,
    header: (name) => linesOf(request, name),
    body: () => readBody(request, body),
  };
}

function linesOf({ headers, headersDistinct }: NodeRequest, name: string): readonly string[] {
  // Node makes the lines of all headers of one that is asked for. Twice the same key would be one text with a comma.
  if (name === 'idempotency-key') {
    const key = headers[name];
    if (key === undefined) return [];
    if (typeof key === 'string' && !key.includes(',')) return [key];
  }
  if (headersDistinct !== undefined) return headersDistinct[name] ?? [];
  const found = headers[name];
  return found === undefined ? [] : typeof found === 'string' ? [found] : found;
}

function readBody({ headers, stream }: NodeRequest, body: unknown): BodyFacts {
  if (body instanceof Uint8Array) return { kind: 'bytes', bytes: body };
  if (body !== undefined && body !== null) return { kind: 'parsed', value: body };
  const isThere =
    headers['transfer-encoding'] !== undefined ||
    Number(headers['content-length'] ?? 0) > 0 ||
    stream?.endAfterHeaders === false;
  // Two different requests would look the same.
  if (isThere && body === undefined) throw new HoldfastError('IDEMPOTENCY_BODY_UNREAD', {});
  return { kind: 'none' };
}
