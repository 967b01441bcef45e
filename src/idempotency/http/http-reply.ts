import type { KeptReply } from '../idempotency-store.ts';

/** Name and value, one pair for each line, in the order they are sent. */
export type HeaderLine = readonly [name: string, value: string];

/** A reply that can be sent as it is. */
export interface HttpReply {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: Uint8Array | undefined;
}

/** What a handler answered. A body that was larger than is kept is told as `too-large`. */
export interface CapturedReply {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: Uint8Array | undefined | 'too-large';
}

interface Head {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  /** The body was too large to be kept. */
  readonly cut?: true;
}

// Of this one connection, moment or browser; the length is made anew.
const NOT_KEPT = new Set([
  'age',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'server-timing',
  'te',
  'trailer',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
]);
// What lets whoever has it in: the name speaks of a sign-in, a session or a token. `x-author` and `etag` do not.
const CREDENTIAL =
  /(?:^|[-_])(?:auth|authenticate|authentication|authorization|bearer|jwt|otp|pin|pwd|session|sid)(?:$|[-_])|api[-_]?key|cookie|credential|csrf|passw|secret|session[-_]?id|token|xsrf/;
const NOT_KEPT_PREFIX = /^(?:access-control-|idempotent-|proxy-|ratelimit|x-ratelimit-)/;

/** What is kept of a reply, without the headers that belong to one exchange only or carry credentials, unless the route asks for them. */
export function keepReply(reply: CapturedReply, askedFor: readonly string[] = []): KeptReply {
  const headers = reply.headers.filter(([name]) => isKept(name.toLowerCase(), askedFor));
  const { status, body } = reply;
  const isCut = body === 'too-large';
  const head: Head = isCut ? { status, headers, cut: true } : { status, headers };
  return { head: JSON.stringify(head), body: isCut ? undefined : body };
}

/** The reply as it was kept; `undefined` when its body was too large for that. */
export function keptHttpReply(kept: KeptReply): HttpReply | undefined {
  const { status, headers, cut } = JSON.parse(kept.head) as Head;
  return cut === true ? undefined : { status, headers, body: kept.body };
}

/** True for the name of a header, in lower case, that hands out a credential: a replay must not do that again. */
export function isCredentialHeader(name: string): boolean {
  return CREDENTIAL.test(name);
}

function isKept(name: string, askedFor: readonly string[]): boolean {
  const isPlain = !NOT_KEPT.has(name) && !NOT_KEPT_PREFIX.test(name) && !isCredentialHeader(name);
  return isPlain || askedFor.some((asked) => asked.toLowerCase() === name);
}
