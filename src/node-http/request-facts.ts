import type { BodyFacts, RequestFacts } from '../idempotency/http/request-facts.ts';
import { HoldfastError } from '../kernel/error.ts';

/** What is used of Node's `IncomingMessage`, and of its like of HTTP/2, which has no `headersDistinct`. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headersDistinct?: Readonly<Record<string, readonly string[] | undefined>> | undefined;
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
    header: (name) => request.headersDistinct?.[name] ?? linesOf(request.headers[name]),
    body: () => readBody(request, body),
  };
}

// HTTP/2 joins lines with a comma, so that two keys look like a list, which is refused too.
function linesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

function readBody({ headers }: NodeRequest, body: unknown): BodyFacts {
  if (body instanceof Uint8Array) return { kind: 'bytes', bytes: body };
  if (body !== undefined && body !== null) return { kind: 'parsed', value: body };
  const isThere = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  // Two different requests would look the same.
  if (isThere && body === undefined) throw new HoldfastError('IDEMPOTENCY_BODY_UNREAD', {});
  return { kind: 'none' };
}
