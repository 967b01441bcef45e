import { OptionCheck } from '../kernel/check-options.ts';
import type { LogFields } from '../kernel/log.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';
import { checkPolicy } from '../retry/check-policy.ts';
import type { Classify } from '../retry/failure.ts';
import { type Policy, type PolicyOptions, toPolicy } from '../retry/policy.ts';
import { defaultPolicy } from '../retry/retry-options.ts';
import { type ClientPlan, lowered, ownHeaders } from './client-options.ts';
import { checkHeaders, type HeaderRecord, isHeaderValue, isHeaderWord } from './header-rules.ts';
import type { ReadAs } from './parse-answer.ts';
import { isRepeatable, type Replay } from './replay-guard.ts';
import { bodyOf, isOneShot } from './request-body.ts';
import { type Query, targetUrl } from './target-url.ts';
import { timeoutLimit } from './timeout-limit.ts';

export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'PUT' | 'DELETE' | 'POST' | 'PATCH';

/** What `fetch` can send. By this name and not `BodyInit`, which a program without the types of browsers does not have. */
export type RequestBody = NonNullable<RequestInit['body']>;

/** One request. `operation` and `path` must be there. */
export interface HttpRequest<T = unknown> {
  /** Names the call in logs, errors and metrics: one name for each kind of call, without ids. */
  readonly operation: string;
  /** Below the client's `baseUrl`. Encode values with the `path` template. */
  readonly path: string;
  /** Default: `POST` with a body, else `GET`. */
  readonly method?: HttpMethod;
  readonly query?: Query | undefined;
  /** Sent as JSON, with its content type. */
  readonly json?: unknown;
  /** Sent as it is. A `ReadableStream` can be sent once, so such a request is never repeated. */
  readonly body?: RequestBody | undefined;
  readonly headers?: HeaderRecord | undefined;
  /** The same on all attempts. With it a POST or PATCH may be repeated. 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | undefined;
  /** Whose request it is: goes into the client's user header and, as `userId`, into the log. */
  readonly user?: string | undefined;
  /** The same on all attempts. Default: a new one. Pass on the one of the request you are serving. */
  readonly requestId?: string | undefined;
  /** Any Standard Schema (zod, valibot, arktype, …). An answer it refuses is never asked for again. */
  readonly schema?: StandardSchema<T> | undefined;
  /** What a good answer's body is read as. Default `json`; `nothing` does not look at it. */
  readonly read?: ReadAs | undefined;
  /** Says that two of these requests have the effect of one (`true`), or that they do not (`false`), whatever the method. */
  readonly repeatable?: boolean;
  /** Bound of each attempt, in place of the policy's (a policy without one: 10,000). Only `Infinity` written here is no bound. */
  readonly timeoutMs?: number | undefined;
  /** In place of the client's. */
  readonly policy?: Policy | PolicyOptions | undefined;
  /** In place of the client's. */
  readonly classify?: Classify | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Epoch time (or `Date`) by which all must be over. */
  readonly deadlineAt?: number | Date | undefined;
  /** Written to every log line, beside the client's. */
  readonly logFields?: LogFields | undefined;
}

/** A request whose answer is checked by a schema, which gives `data` its type. */
export type CheckedRequest<T> = HttpRequest<T> & {
  readonly schema: StandardSchema<T>;
  readonly read?: 'json' | 'text' | undefined;
};

/** A request whose answer is taken as text. */
export type TextRequest = HttpRequest & { readonly read: 'text'; readonly schema?: undefined };

/** A request whose answer is not looked at, by a schema neither. */
export type UnreadRequest = HttpRequest & { readonly read: 'nothing' };

const FIELDS: readonly (keyof HttpRequest)[] = [
  'operation',
  'path',
  'method',
  'query',
  'json',
  'body',
  'headers',
  'idempotencyKey',
  'user',
  'requestId',
  'schema',
  'read',
  'repeatable',
  'timeoutMs',
  'policy',
  'classify',
  'signal',
  'deadlineAt',
  'logFields',
];

const METHODS: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'];

/** A checked request: what goes over the wire, the same on all attempts. */
export interface RequestPlan extends Replay {
  readonly operation: string;
  readonly method: string;
  readonly url: URL;
  /** All but the token and what counts attempts. */
  readonly headers: HeaderRecord;
  readonly body: RequestBody | undefined;
  readonly requestId: string;
  readonly read: ReadAs;
  readonly policy: Policy;
  readonly deadlineAtMs: number;
}

/** Checks one request; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planRequest(client: ClientPlan, request: HttpRequest): RequestPlan {
  const check = new OptionCheck('request()');
  if (!check.object('request', request, "pass an object such as { operation: 'read', path: '/' }")) check.done();
  check.known(request, FIELDS);
  const { operation, idempotencyKey, user } = request;
  if (typeof operation !== 'string' || operation === '')
    check.refuse('operation', operation, "name the operation, for example 'create-invoice'");
  const target = targetUrl(client.base, request.path, request.query);
  if ('problem' in target) check.refuse('path', request.path, target.problem);
  const method = request.method ?? (request.json === undefined && request.body === undefined ? 'GET' : 'POST');
  check.word('method', method, METHODS);
  const body = bodyOf(check, request, method);
  checkHeaders(check, request.headers, ownHeaders(client.bearer !== undefined, client.userHeader));
  checkIds(check, request);
  if (request.policy !== undefined) checkPolicy(check, 'policy', request.policy);
  checkBounds(check, request, timeoutLimit(request.policy ?? client.policy));
  const requestId = request.requestId ?? client.newRequestId();
  if (request.requestId === undefined && !isHeaderWord(requestId))
    check.refuse('newRequestId', requestId, `let it ${ID}`);
  check.done();
  const policy = request.policy === undefined ? (client.policy ?? defaultPolicy()) : toPolicy(request.policy);
  return {
    operation,
    method,
    url: 'url' in target ? target.url : new URL(client.base),
    headers: {
      accept: request.read === 'text' || request.read === 'nothing' ? '*/*' : 'application/json',
      ...(request.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...client.headers,
      ...lowered(request.headers),
      'x-request-id': requestId,
      ...(idempotencyKey === undefined ? {} : { [client.idempotencyHeader]: idempotencyKey }),
      ...(user === undefined ? {} : { [client.userHeader]: user }),
    },
    body,
    requestId,
    read: request.read ?? 'json',
    policy: { ...policy, timeoutMs: request.timeoutMs ?? boundMs(policy) },
    deadlineAtMs: request.deadlineAt === undefined ? Infinity : Number(request.deadlineAt),
    repeatable: isRepeatable(method, idempotencyKey, request.repeatable),
    bodyIsKept: !isOneShot(body),
  };
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Policies made for work that bounds itself (streams, handlers) have no bound; over HTTP that would wait for ever. */
function boundMs(policy: Policy): number {
  return policy.timeoutMs === Infinity ? Math.min(DEFAULT_TIMEOUT_MS, timeoutLimit(policy)) : policy.timeoutMs;
}

const ID = 'write 1 to 255 visible ASCII characters without spaces';

function checkIds(check: OptionCheck, request: HttpRequest): void {
  const word = `${ID}, or leave it out`;
  if (request.idempotencyKey !== undefined && !isHeaderWord(request.idempotencyKey))
    check.refuse('idempotencyKey', request.idempotencyKey, word);
  if (request.requestId !== undefined && !isHeaderWord(request.requestId))
    check.refuse('requestId', request.requestId, word);
  if (request.user !== undefined && (request.user === '' || !isHeaderValue(request.user))) {
    check.refuse(
      'user',
      request.user,
      'write one line of Latin text without control characters (encode anything else), or leave it out',
    );
  }
}

function checkBounds(check: OptionCheck, request: HttpRequest, limitMs: number): void {
  const { timeoutMs, deadlineAt, schema, read, repeatable } = request;
  if (timeoutMs !== undefined)
    check.number('timeoutMs', timeoutMs, { min: 1, max: Infinity, write: 'write milliseconds from 1' });
  if (timeoutMs !== undefined && timeoutMs !== Infinity && timeoutMs > limitMs)
    check.refuse('timeoutMs', timeoutMs, `make it at most the policy's maxElapsedMs, which is ${limitMs}`);
  if (deadlineAt !== undefined && !Number.isFinite(Number(deadlineAt)))
    check.refuse('deadlineAt', Number(deadlineAt), 'write a Date or epoch milliseconds');
  if (read !== undefined) check.word('read', read, ['json', 'text', 'nothing']);
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    check.refuse('schema', schema, 'pass a Standard Schema, for example one of zod or valibot');
  }
  if (repeatable !== undefined && typeof repeatable !== 'boolean')
    check.refuse('repeatable', repeatable, 'write true or false');
}
