import type { DeliveryRequest } from './delivery-request.ts';

/** What is said about the message in its headers. */
export interface OutgoingFacts {
  readonly messageId: string;
  /** From 1. */
  readonly attempt: number;
  readonly bodyLength: number;
  /** The headers of the signature. */
  readonly signature: Readonly<Record<string, string>>;
}

// They are about one connection, or about how the body is written on it: RFC 9110, 7.6.1. `host` and the length are ours.
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers a destination gets: those of the message, what QStash adds, and the signature. What is ours cannot be set by a message:
 * neither the signature and its fellows nor what belongs to the connection.
 */
export function outgoingHeaders(request: DeliveryRequest, facts: OutgoingFacts): Record<string, string | string[]> {
  const own = ownHeaders(request, facts);
  const names = Object.keys(request.headers);
  if (names.length === 0) return own;
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const headers: Record<string, string | string[]> = {};
  const named = namedByConnection(request);
  for (const [name, values] of Object.entries(request.headers)) {
    const lower = name.toLowerCase();
    if (!OURS.has(lower) && !taken.has(lower) && !named.has(lower)) headers[name] = [...values];
  }
  return { ...headers, ...own };
}

function ownHeaders(request: DeliveryRequest, facts: OutgoingFacts): Record<string, string> {
  const { scheduleId, group, callerIp, signedBy, method } = request;
  const hasLength = facts.bodyLength > 0 || !['GET', 'DELETE'].includes(method);
  const length = hasLength ? { 'Content-Length': String(facts.bodyLength) } : {};
  if (signedBy === 'endpoint') return { 'User-Agent': 'Holdfast', ...facts.signature, ...length };
  return {
    // Receivers, and those who protect them, go by it.
    'User-Agent': 'Upstash-QStash',
    'Upstash-Message-Id': facts.messageId,
    'Upstash-Retried': String(facts.attempt - 1),
    ...(scheduleId !== undefined && { 'Upstash-Schedule-Id': scheduleId }),
    ...(group !== undefined && { 'Upstash-Topic-Name': group }),
    ...(callerIp !== undefined && { 'Upstash-Caller-Ip': callerIp }),
    ...facts.signature,
    ...length,
  };
}

/** Headers that a header `Connection` names go no further than that connection. */
function namedByConnection({ headers }: DeliveryRequest): ReadonlySet<string> {
  const values = Object.entries(headers).flatMap(([name, list]) => (name.toLowerCase() === 'connection' ? list : []));
  return new Set(values.flatMap((value) => value.split(',')).map((name) => name.trim().toLowerCase()));
}
