import { HoldfastError } from '../kernel/error.ts';
import type { NotRepeated } from '../kernel/error-codes.ts';
import type { AttemptContext } from '../retry/attempt.ts';
import { HINT_HEADERS } from '../retry/hint.ts';
import { type ClientPlan, tokenProblem } from './client-options.ts';
import { type ErrorAnswer, keepAnswer } from './error-answer.ts';
import type { Progress } from './progress.ts';
import { discard, readBytes, readStart } from './read-body.ts';
import { isRedirect, redirectStep } from './redirect.ts';
import type { RequestBody, RequestPlan } from './request-options.ts';
import { Secrets } from './secrets.ts';
import { shownUrl } from './target-url.ts';

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** What must not be shown of the request this answers. */
  readonly secrets: Secrets;
}

/** How one attempt is made. */
export interface Exchange {
  readonly client: ClientPlan;
  readonly request: RequestPlan;
  readonly context: AttemptContext;
  /** Statuses besides 2xx that are answers, not errors. */
  readonly alsoGood: readonly number[];
  /** Where what happens is noted. */
  readonly progress: Progress;
}

// A failed answer's status says it all; its body is a help for people, and not worth waiting for.
const ERROR_BODY = { limitBytes: 65_536, withinMs: 1_000 };

/**
 * Sends the request once (following redirects where the client allows it) and reads the answer once. Throws
 * `HTTP_STATUS` for a status that is not good, `HTTP_NO_ANSWER` when the connection fails or breaks off.
 */
export async function exchange(how: Exchange): Promise<Answer> {
  const { client, request, alsoGood } = how;
  const secrets = new Secrets();
  const headers = await attemptHeaders(how, secrets);
  for (const [name, value] of Object.entries(headers)) secrets.addHeader(name, value);
  secrets.addQuery(request.url.searchParams);
  secrets.addBody(request.body);
  const response = await reach(how, headers, secrets);
  const { status } = response;
  if (!response.ok && !alsoGood.includes(status)) {
    const bytes = await readStart(response, { ...ERROR_BODY, effects: client.effects });
    throw statusError(request, errorAnswer({ status, headers: response.headers, bytes, secrets }));
  }
  if (!response.ok || request.read === 'nothing') {
    const bytes = await readStart(response, { ...ERROR_BODY, effects: client.effects });
    return { status, headers: response.headers, bytes, secrets };
  }
  const bytes = await readBytes(response, client.maxBodyBytes).catch((error: unknown) => {
    throw noAnswer(request, error);
  });
  if (bytes === 'too-large') {
    throw new HoldfastError('HTTP_BODY_TOO_LARGE', { operation: request.operation, limitBytes: client.maxBodyBytes });
  }
  return { status, headers: response.headers, bytes, secrets };
}

/** The error of an answer with a status that is not good. The answer is kept beside it, for `answerOf`. */
export function statusError(
  request: RequestPlan,
  answer: ErrorAnswer,
  more: { notRepeated?: NotRepeated } = {},
): HoldfastError<'HTTP_STATUS'> {
  const { operation, method, url, requestId } = request;
  const { status, headers } = answer;
  const error = new HoldfastError('HTTP_STATUS', {
    operation,
    method,
    url: shownUrl(url),
    status,
    requestId,
    ...more,
  });
  // What a classifier reads of an answer; the rest is only to be had by `answerOf`.
  const hints = HINT_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  // Where classifiers look, also those of other libraries. Not enumerable: headers are not for logs.
  Object.defineProperties(error, { status: { value: status }, headers: { value: Object.fromEntries(hints) } });
  return keepAnswer(error, answer);
}

/** The answer as it may be looked at. */
export function errorAnswer({ status, headers, bytes, secrets }: Answer): ErrorAnswer {
  return { status, headers, text: secrets.hide(new TextDecoder().decode(bytes)) };
}

async function attemptHeaders(how: Exchange, secrets: Secrets): Promise<Record<string, string>> {
  const { client, request, context } = how;
  const leftMs = Math.min(request.policy.timeoutMs, request.deadlineAtMs - client.effects.now().wallMs);
  const headers: Record<string, string> = { ...request.headers, 'x-attempt': String(context.attempt) };
  if (leftMs !== Infinity) headers['x-timeout-ms'] = String(Math.max(0, Math.floor(leftMs)));
  if (client.bearer === undefined) return headers;
  const token = typeof client.bearer === 'function' ? await client.bearer() : client.bearer;
  const write = tokenProblem(token, client.authScheme);
  if (write !== undefined) {
    throw new HoldfastError('INVALID_OPTIONS', {
      of: 'serviceClient()',
      problems: [{ option: 'bearer', found: 'a function that gave no usable token', write }],
    });
  }
  secrets.add(token);
  headers['authorization'] = `${client.authScheme} ${token}`;
  return headers;
}

/** The response at the end of all redirects that are allowed. */
async function reach(how: Exchange, headers: Record<string, string>, secrets: Secrets): Promise<Response> {
  const { client, request, progress } = how;
  let { url, method, body } = request as { url: URL; method: string; body: RequestBody | undefined };
  for (let followed = 0; ; followed++) {
    const response = await send(how, url, { method, headers, body });
    const { status } = response;
    progress.answered(status);
    // Browsers hide where a redirect leads: type opaqueredirect, status 0.
    if (!isRedirect(status) && response.type !== 'opaqueredirect') return response;
    discard(response.body);
    const location = response.headers.get('location');
    const { rule, bodyIsKept } = { rule: client.redirects, bodyIsKept: request.bodyIsKept };
    const step = redirectStep({ rule, status, location, from: url, method, followed, bodyIsKept });
    if (step.kind === 'refuse') {
      const shown = secrets.hide(shownLocation(location, url));
      throw new HoldfastError('HTTP_REDIRECT_REFUSED', { operation: request.operation, status, location: shown });
    }
    progress.followed();
    if (step.method !== method) {
      body = undefined;
      delete headers['content-type'];
    }
    ({ url, method } = step);
  }
}

async function send(
  how: Exchange,
  url: URL,
  sent: { method: string; headers: Record<string, string>; body: RequestBody | undefined },
): Promise<Response> {
  const { client, request, context, progress } = how;
  const { method, headers, body } = sent;
  // The token, or the redirect, may have come when the attempt was given up: another may be under way.
  if (context.signal.aborted) throw context.signal.reason;
  // Node wants `duplex` for a stream; the types of the DOM do not know it.
  const init: RequestInit & { duplex?: 'half' } = { method, headers, redirect: 'manual', signal: context.signal };
  if (body !== undefined) init.body = body;
  if (!request.bodyIsKept) init.duplex = 'half';
  progress.sending();
  try {
    return await client.fetch(url.href, init);
  } catch (error) {
    progress.unanswered(codeOf(error));
    throw context.signal.aborted ? error : noAnswer(request, error);
  }
}

/** The error of a request that got no answer, or half of one. */
export function noAnswer(
  request: RequestPlan,
  cause: unknown,
  more: { timeoutMs?: number; notRepeated?: NotRepeated } = {},
): HoldfastError<'HTTP_NO_ANSWER'> {
  const { operation, method, url, requestId } = request;
  hideWireBytes(cause);
  return new HoldfastError(
    'HTTP_NO_ANSWER',
    { operation, method, url: shownUrl(url), requestId, problem: codeOf(cause), ...more },
    { cause },
  );
}

/** The first code among the error and its causes: fetch itself only says that it failed. */
function codeOf(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code)) return code;
    at = at.cause;
  }
  return 'no code';
}

/** Node's parser error carries the bytes it could not read, and a broken service may send our own request back. */
function hideWireBytes(error: unknown): void {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && 'data' in cause) Object.defineProperty(cause, 'data', { enumerable: false });
}

/** Where a redirect leads, as far as it may be shown: a path can be a key by itself, as in a link to log in by. */
function shownLocation(location: string | null, from: URL): string {
  const url = location === null ? null : URL.parse(location, from);
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? `${url.origin}/…` : 'no readable address';
}
