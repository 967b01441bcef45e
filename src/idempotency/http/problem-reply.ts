import type { HeaderLine, HttpReply } from './http-reply.ts';

/** Why a request was not carried out. Each is the end of a problem type, `urn:holdfast:idempotency:<name>`, and keeps its meaning. */
export type ProblemName =
  | 'body-too-large'
  | 'body-unreadable'
  | 'failed'
  | 'in-flight'
  | 'key-invalid'
  | 'key-missing'
  | 'mismatch'
  | 'not-committed'
  | 'person-unknown'
  | 'reply-not-kept'
  | 'store-down'
  | 'unknown-outcome';

const PROBLEMS: Readonly<Record<ProblemName, readonly [status: number, title: string, next: string]>> = {
  'key-missing': [400, 'The header Idempotency-Key is missing', 'Send one with a value of its own for each operation.'],
  'key-invalid': [
    400,
    'The header Idempotency-Key cannot be used',
    'Send one value of 1 to 255 visible ASCII characters.',
  ],
  'body-unreadable': [400, 'The body of the request cannot be compared', 'Send a body with less nesting.'],
  'person-unknown': [
    403,
    'It is not known who sends this request',
    'Sign in, then send the request again; its key is as good as new.',
  ],
  'in-flight': [409, 'A request with this key is being carried out', 'Wait, then send the same request again.'],
  'unknown-outcome': [
    409,
    'A request with this key began, and how it ended is not known',
    'Find out whether it took effect before you send it with a new key.',
  ],
  'reply-not-kept': [
    410,
    'The request with this key was carried out, but its reply is not kept',
    'Look up the result; sending the request again does not repeat it.',
  ],
  'body-too-large': [413, 'The body of the request is too large', 'Send a smaller body.'],
  mismatch: [
    422,
    'This key was used for another request',
    'Send the original request with this key, or a new key with this request.',
  ],
  'not-committed': [
    500,
    'The handler of this atomic route answered without commit',
    'It is not run again with this key: what it did outside of commit may have happened, so look up the result. ' +
      'Make the reply inside run.commit(), or leave out atomic: true.',
  ],
  failed: [500, 'The request failed', 'Sending it again with this key gives the same answer.'],
  'store-down': [
    503,
    'The request was not carried out: it cannot be told whether it was carried out before',
    'Send the same request again in a moment.',
  ],
};

/** A reply of our own, as RFC 9457 has it. `detail` says more than the title where there is more to say. */
export function problemReply(name: ProblemName, options: { detail?: string; retryAfterS?: number } = {}): HttpReply {
  const [status, title, next] = PROBLEMS[name];
  const detail = options.detail === undefined ? next : `${options.detail} ${next}`;
  const headers: HeaderLine[] = [['Content-Type', 'application/problem+json']];
  if (options.retryAfterS !== undefined) headers.push(['Retry-After', String(options.retryAfterS)]);
  const body = { type: `urn:holdfast:idempotency:${name}`, title, status, detail };
  return { status, headers, body: new TextEncoder().encode(JSON.stringify(body)) };
}
