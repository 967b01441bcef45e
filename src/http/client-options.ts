import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import type { RetryBudget } from '../retry/budget.ts';
import { checkPolicy } from '../retry/check-policy.ts';
import type { Classify } from '../retry/failure.ts';
import { type Policy, type PolicyOptions, toPolicy } from '../retry/policy.ts';
import type { RetryObserver } from '../retry/retry-event.ts';
import { systemEffects } from '../system/effects.ts';
import type { HttpAttemptObserver } from './attempt-report.ts';
import { checkHeaders, type HeaderRecord, isHeaderName, isHeaderValue, isHeaderWord } from './header-rules.ts';
import type { RedirectRule } from './redirect.ts';
import { parseBaseUrl } from './target-url.ts';

/** What `serviceClient` takes. Only `baseUrl` must be there. */
export interface ServiceClientOptions {
  /** Absolute, http or https. Every path is put below it and cannot leave it. */
  readonly baseUrl: string | URL;
  /** Sent as `authorization: Bearer …`. A function is asked before each attempt, so that a new token is used at once. */
  readonly bearer?: string | (() => string | Promise<string>) | undefined;
  /** The word before the token. Default `Bearer`. */
  readonly authScheme?: string;
  /** The header that names the user of a request. Default `x-user-id`. */
  readonly userHeader?: string;
  /** The header that carries the idempotency key. Default `idempotency-key`. */
  readonly idempotencyHeader?: 'idempotency-key' | 'x-idempotency-key';
  /** Sent with every request; a request's own headers win. */
  readonly headers?: HeaderRecord;
  /** Default: the service-call policy (3 attempts of 10 s, 250 ms to 5 s between them, full jitter); inside a handler one attempt of 10 s. */
  readonly policy?: Policy | PolicyOptions;
  /** Asked first about each failure; `undefined` leaves the answer to the default. */
  readonly classify?: Classify;
  /** Shared by all requests of this client; see `retryBudget`. */
  readonly budget?: RetryBudget;
  /** One line for each attempt, wait and stop. Default: none. */
  readonly logger?: Logger;
  /** Written to every log line. */
  readonly logFields?: LogFields;
  readonly observe?: RetryObserver;
  /** Is told of each attempt with all that is known of it: `factRecorder(…).call` keeps them for `holdfast trace`. */
  readonly onAttempt?: HttpAttemptObserver;
  /** An answer whose body is longer, unpacked, is refused. Default 10 MiB (10,485,760). */
  readonly maxBodyBytes?: number;
  /** Default `refuse`. `same-origin` follows up to 5 redirects that stay at the same scheme, host and port. */
  readonly redirects?: RedirectRule;
  /** Makes the `x-request-id` of a request that brings none. Default: a random UUID. */
  readonly newRequestId?: () => string;
  /** Default: the runtime's own, which keeps connections alive. */
  readonly fetch?: typeof globalThis.fetch;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects;
}

const FIELDS: readonly (keyof ServiceClientOptions)[] = [
  'baseUrl',
  'bearer',
  'authScheme',
  'userHeader',
  'idempotencyHeader',
  'headers',
  'policy',
  'classify',
  'budget',
  'logger',
  'logFields',
  'observe',
  'onAttempt',
  'maxBodyBytes',
  'redirects',
  'newRequestId',
  'fetch',
  'effects',
];

/** Checked options with the defaults filled in. */
export interface ClientPlan {
  readonly base: string;
  readonly bearer: string | (() => string | Promise<string>) | undefined;
  readonly authScheme: string;
  readonly userHeader: string;
  readonly idempotencyHeader: string;
  readonly headers: HeaderRecord;
  /** Absent: the default of the place where a call is made. */
  readonly policy: Policy | undefined;
  readonly classify: Classify | undefined;
  readonly budget: RetryBudget | undefined;
  readonly logger: Logger | undefined;
  readonly logFields: LogFields;
  readonly observe: RetryObserver | undefined;
  readonly onAttempt: HttpAttemptObserver | undefined;
  readonly maxBodyBytes: number;
  readonly redirects: RedirectRule;
  readonly newRequestId: () => string;
  readonly fetch: typeof globalThis.fetch;
  readonly effects: Effects;
}

const MIB = 1_048_576;
const DEFAULT_SCHEME = 'Bearer';

/** Checks a client's options; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planClient(options: ServiceClientOptions): ClientPlan {
  const check = new OptionCheck('serviceClient()');
  if (!check.object('options', options, "pass an object such as { baseUrl: 'https://billing.internal/api' }"))
    check.done();
  check.known(options, FIELDS);
  const parsed = parseBaseUrl(options.baseUrl);
  if ('problem' in parsed) refuseBaseUrl(check, options.baseUrl, parsed.problem);
  const userHeader = options.userHeader ?? 'x-user-id';
  checkAuth(check, options);
  if (!isHeaderName(userHeader))
    check.refuse('userHeader', options.userHeader, "write a header name, for example 'x-user-id'");
  const { idempotencyHeader = 'idempotency-key', redirects = 'refuse' } = options;
  check.word('idempotencyHeader', idempotencyHeader, ['idempotency-key', 'x-idempotency-key']);
  check.word('redirects', redirects, ['refuse', 'same-origin']);
  const maxBodyBytes = options.maxBodyBytes ?? 10 * MIB;
  check.number('maxBodyBytes', maxBodyBytes, {
    min: 0,
    max: 1024 * MIB,
    integer: true,
    write: 'write whole bytes, at most 1 GiB (1073741824)',
  });
  for (const name of ['classify', 'observe', 'onAttempt', 'newRequestId', 'fetch'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      check.refuse(name, options[name], 'pass a function');
  }
  const taken = isHeaderName(userHeader) ? ownHeaders(options.bearer !== undefined, userHeader) : {};
  checkHeaders(check, options.headers, taken);
  if (options.policy !== undefined) checkPolicy(check, 'policy', options.policy);
  check.done();
  return {
    base: 'base' in parsed ? parsed.base : '',
    bearer: options.bearer,
    authScheme: options.authScheme ?? DEFAULT_SCHEME,
    userHeader: userHeader.toLowerCase(),
    idempotencyHeader,
    headers: lowered(options.headers),
    policy: options.policy && toPolicy(options.policy),
    classify: options.classify,
    budget: options.budget,
    logger: options.logger,
    logFields: options.logFields ?? {},
    observe: options.observe,
    onAttempt: options.onAttempt,
    maxBodyBytes,
    redirects,
    newRequestId: options.newRequestId ?? (() => crypto.randomUUID()),
    // Looked up with each call: tracing libraries put their own in its place after this module was loaded.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    effects: options.effects ?? systemEffects,
  };
}

/** Headers that have an option of their own, each with what to write in its place. */
export function ownHeaders(hasBearer: boolean, userHeader: string): Readonly<Record<string, string>> {
  return {
    'x-request-id': 'write requestId with the request',
    'idempotency-key': 'write idempotencyKey with the request',
    'x-idempotency-key': 'write idempotencyKey with the request',
    'x-attempt': 'leave it out, the client counts',
    'x-timeout-ms': 'write timeoutMs or deadlineAt',
    [userHeader.toLowerCase()]: 'write user with the request',
    ...(hasBearer ? { authorization: 'leave it out, or leave bearer out' } : {}),
  };
}

/** Headers with lower-case names, so that a request's own replace the client's. */
export function lowered(headers: HeaderRecord | undefined): HeaderRecord {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}

/** What is wrong with a token, as what to write in its place; `undefined` for one that can be sent. */
export function tokenProblem(token: unknown, authScheme: string): string | undefined {
  if (!isHeaderValue(token) || token === '') return 'write the token alone, on one line';
  const first = /^(\S+)\s/.exec(token)?.[1]?.toLowerCase();
  // A header copied as a whole: it would go out as `Bearer Bearer …`, and come back as a 401 that nobody can explain.
  if (first === undefined || ![authScheme.toLowerCase(), 'bearer', 'basic', 'token'].includes(first)) return undefined;
  return `write the token alone; the word before it comes from authScheme, which is ${authScheme}`;
}

function checkAuth(check: OptionCheck, { bearer, authScheme = DEFAULT_SCHEME }: ServiceClientOptions): void {
  if (!isHeaderWord(authScheme)) check.refuse('authScheme', authScheme, "write one word, for example 'Bearer'");
  if (bearer === undefined || typeof bearer === 'function') return;
  const problem = tokenProblem(bearer, isHeaderWord(authScheme) ? authScheme : DEFAULT_SCHEME);
  if (problem) check.refuse('bearer', bearer, `${problem}, or pass a function that gives it, or leave it out`);
}

/** Of an address no more than its host is shown: the rest may hold a password or a key. */
function refuseBaseUrl(check: OptionCheck, baseUrl: unknown, write: string): void {
  const url = typeof baseUrl === 'string' || baseUrl instanceof URL ? URL.parse(String(baseUrl)) : null;
  if (!url?.host) return check.refuse('baseUrl', baseUrl, write);
  check.add({ option: 'baseUrl', found: `a URL of ${url.protocol}//${url.host}`, write });
}
