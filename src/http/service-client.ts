import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { LogFields } from '../kernel/log.ts';
import type { AttemptContext } from '../retry/attempt.ts';
import { createClassifier } from '../retry/classifier.ts';
import type { Classify } from '../retry/failure.ts';
import type { RetryObserver } from '../retry/retry-event.ts';
import type { RetryOptions } from '../retry/retry-options.ts';
import { withRetry } from '../retry/with-retry.ts';
import { activeSpan } from '../system/active-span.ts';
import { logHttp, tellAttempts, together, traceHttp } from './attempt-report.ts';
import { type ClientPlan, planClient, type ServiceClientOptions } from './client-options.ts';
import { keepAnswer } from './error-answer.ts';
import { type Answer, errorAnswer, exchange, statusError } from './exchange.ts';
import { finalError, type LastFailure } from './final-error.ts';
import { parseAnswer } from './parse-answer.ts';
import { Progress } from './progress.ts';
import { guardReplay, whyNotRepeated } from './replay-guard.ts';
import {
  type CheckedRequest,
  type HttpRequest,
  planRequest,
  type RequestPlan,
  type TextRequest,
  type UnreadRequest,
} from './request-options.ts';
import { type Query, shownUrl, targetUrl } from './target-url.ts';

/** A good answer. */
export interface HttpResult<T> {
  readonly status: number;
  readonly headers: Headers;
  /** The body, checked by the schema; `undefined` when it was empty or not read. */
  readonly data: T;
  /** What was sent as `x-request-id`. */
  readonly requestId: string;
  /** How many attempts it took. */
  readonly attempts: number;
}

/** A request that makes something, unless it is there. */
export interface CreateRequest<T = unknown> extends HttpRequest<T> {
  /** Where the thing is found if it was there before. With it, `data` is that thing and a conflict is proven, not believed. */
  readonly existing?: { readonly path: string; readonly query?: Query };
  /** Statuses by which the service says that the thing is there. Default `[409]`. */
  readonly conflicts?: readonly number[];
}

/** What came of a create-if-absent. `data` is `undefined` when the thing was there before and `existing` was not given. */
export interface CreateResult<T> extends HttpResult<T | undefined> {
  /**
   * False when the service said that the thing was there. It may have been made by an earlier attempt of this very call
   * whose answer was lost, so read it as "exists now", not as "somebody else made it".
   */
  readonly created: boolean;
}

/** Sends requests to one service: bounded, retried where that is safe, checked and logged. */
export interface ServiceClient {
  /**
   * Sends a request and gives its good (2xx) answer. Rejects as `withRetry` does; `answerOf(error)` gives the bad answer.
   * `data` is what the schema makes of the body, the text when that is asked for, and `unknown` when nothing has checked it.
   */
  request(request: UnreadRequest): Promise<HttpResult<undefined>>;
  request(request: TextRequest): Promise<HttpResult<string>>;
  request<T>(request: CheckedRequest<T>): Promise<HttpResult<T>>;
  request(request: HttpRequest): Promise<HttpResult<unknown>>;
  /** As `request`, but 404 and 410 give `undefined`. */
  find(request: UnreadRequest): Promise<HttpResult<undefined> | undefined>;
  find(request: TextRequest): Promise<HttpResult<string> | undefined>;
  find<T>(request: CheckedRequest<T>): Promise<HttpResult<T> | undefined>;
  find(request: HttpRequest): Promise<HttpResult<unknown> | undefined>;
  /** As `request`, but "it is there already" (409) is a success. Repeated attempts are safe by its nature, so they are made. */
  createIfAbsent(request: CreateRequest & UnreadRequest): Promise<CreateResult<undefined>>;
  createIfAbsent(request: CreateRequest & TextRequest): Promise<CreateResult<string>>;
  createIfAbsent<T>(request: CreateRequest<T> & CheckedRequest<T>): Promise<CreateResult<T>>;
  createIfAbsent(request: CreateRequest): Promise<CreateResult<unknown>>;
}

/**
 * A client for one service. Wrong options are refused at once, all named.
 *
 * Every attempt carries the same `x-request-id` and idempotency key, and is bounded by the policy's `timeoutMs`. GET, HEAD,
 * OPTIONS, PUT and DELETE are repeated; POST and PATCH only with an idempotency key, or when the service cannot have acted
 * (no connection, 425, 429). Tokens, header values and bodies are never in logs or errors.
 */
export function serviceClient(options: ServiceClientOptions): ServiceClient {
  const client = planClient(options);
  return {
    request: async <T>(request: HttpRequest<T>): Promise<HttpResult<T>> => new Call(client, request).result(),
    find: async <T>(request: HttpRequest<T>): Promise<HttpResult<T> | undefined> =>
      new Call(client, request).resultIfFound(),
    createIfAbsent: <T>(request: CreateRequest<T>): Promise<CreateResult<T>> => createIfAbsent(client, request),
  };
}

/** An answer that was good, before its body is looked at. */
interface Received<T> {
  readonly answer: Answer;
  readonly attempts: number;
  /** Absent when the body was not looked at: it was not asked for, or the status is one whose body the schema does not describe. */
  readonly data?: T;
}

/** One call of the client: all attempts of one request. */
class Call<T> {
  readonly request: RequestPlan;
  private readonly client: ClientPlan;
  private readonly asked: HttpRequest<T>;
  /** Of the attempt under way, or of the last one. */
  private progress: Progress | undefined;
  private lastFailure: LastFailure | undefined;

  constructor(client: ClientPlan, asked: HttpRequest<T>) {
    this.client = client;
    this.asked = asked;
    this.request = planRequest(client, asked);
  }

  async result(): Promise<HttpResult<T>> {
    return this.toResult(await this.receive([]));
  }

  async resultIfFound(): Promise<HttpResult<T> | undefined> {
    const received = await this.receive([404, 410]);
    return isGood(received.answer.status) ? this.toResult(received) : undefined;
  }

  /** All attempts; `alsoGood` are statuses besides 2xx that end them as a success. */
  async receive(alsoGood: readonly number[]): Promise<Received<T>> {
    const attempt = (context: AttemptContext): Promise<Received<T>> => this.attempt(context, alsoGood);
    try {
      return await withRetry(this.request.operation, attempt, this.retryOptions());
    } catch (error) {
      throw finalError(error, this.request, this.lastFailure);
    }
  }

  toResult({ answer, attempts, data }: Received<T>): HttpResult<T> {
    // Where the body was not looked at the caller knows: it asked for nothing, or is told by the status.
    return {
      status: answer.status,
      headers: answer.headers,
      data: data as T,
      requestId: this.request.requestId,
      attempts,
    };
  }

  private async attempt(context: AttemptContext, alsoGood: readonly number[]): Promise<Received<T>> {
    const { client, request } = this;
    const progress = new Progress(context.signal);
    this.progress = progress;
    const answer = await exchange({ client, request, context, alsoGood, progress });
    const received = { answer, attempts: context.attempt };
    if (!isGood(answer.status) || request.read === 'nothing') return received;
    return { ...received, data: await this.parse(answer) };
  }

  private async parse(answer: Answer): Promise<T> {
    const { status, headers, bytes, secrets } = answer;
    const { operation, url, requestId } = this.request;
    const parsed = await parseAnswer(
      { bytes, contentType: headers.get('content-type') },
      this.request.read,
      this.asked.schema,
    );
    if ('value' in parsed) return parsed.value;
    const { reason, issues } = parsed;
    const problem = secrets.hide(parsed.problem);
    const error = new HoldfastError(
      'HTTP_BODY_INVALID',
      { operation, url: shownUrl(url), status, requestId, reason, problem },
      'cause' in parsed ? { cause: parsed.cause } : {},
    );
    throw keepAnswer(error, { ...errorAnswer(answer), ...(issues ? { issues } : {}) });
  }

  private retryOptions(): RetryOptions {
    const { client, request, asked } = this;
    const { idempotencyKey, signal, deadlineAt } = asked;
    const observe = this.observer();
    return {
      policy: request.policy,
      classify: this.classifier(),
      effects: client.effects,
      logFields: this.logFields(),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(signal === undefined ? {} : { signal }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
      ...(client.budget ? { budget: client.budget } : {}),
      ...(client.logger ? { logger: logHttp(client.logger, request, () => this.progress?.status) } : {}),
      ...(observe ? { observe } : {}),
    };
  }

  private classifier(): Classify {
    const { client, asked, request } = this;
    const before = asked.classify ?? client.classify;
    const classify = createClassifier({
      unknown: 'fail',
      now: () => client.effects.now().wallMs,
      ...(before ? { before } : {}),
    });
    return (error) => {
      const failure = classify(error);
      const guarded = guardReplay(failure, request, this.progress?.mayHaveActed ?? false);
      // Under a policy of one attempt it would not have been repeated anyway.
      const isRefused = guarded !== failure && request.policy.maxAttempts > 1;
      this.lastFailure = {
        error,
        isTimeout: isHoldfastError(error, 'ATTEMPT_TIMEOUT') && this.progress?.wasEndedBy(error) === true,
        notRepeated: isRefused ? whyNotRepeated(request, asked.repeatable) : undefined,
      };
      return guarded;
    };
  }

  private observer(): RetryObserver | undefined {
    const span = activeSpan();
    const { observe, onAttempt } = this.client;
    const statusNow = (): number | undefined => this.progress?.status;
    return together([
      span && traceHttp(span, this.request, statusNow),
      onAttempt && tellAttempts(onAttempt, this.request, this.logFields(), statusNow),
      observe,
    ]);
  }

  private logFields(): LogFields {
    const { client, asked, request } = this;
    const user = asked.user === undefined ? {} : { userId: asked.user };
    return { ...client.logFields, ...asked.logFields, requestId: request.requestId, ...user };
  }
}

async function createIfAbsent<T>(client: ClientPlan, asked: CreateRequest<T>): Promise<CreateResult<T>> {
  checkCreate(client, asked);
  const { existing, conflicts = [409], ...rest } = asked;
  const call = new Call<T>(client, { repeatable: true, method: 'POST', ...rest });
  const received = await call.receive(conflicts);
  const { status } = received.answer;
  if (isGood(status)) return { ...call.toResult(received), created: true };
  if (!existing) return { ...call.toResult(received), created: false };
  const { operation, headers, user, schema, read, timeoutMs, policy, classify, signal, deadlineAt, logFields } = rest;
  const passedOn = { headers, user, schema, read, timeoutMs, policy, classify, signal, deadlineAt, logFields };
  const found = await new Call<T>(client, {
    ...passedOn,
    ...existing,
    operation: `${operation}.existing`,
    requestId: call.request.requestId,
  }).resultIfFound();
  // Not there after all: the service meant something else by that status.
  if (!found) throw statusError(call.request, errorAnswer(received.answer));
  return { ...found, created: false };
}

/** Before anything is sent: once the thing is made it is too late to find that its place cannot be asked for. */
function checkCreate(client: ClientPlan, asked: CreateRequest): void {
  const check = new OptionCheck('createIfAbsent()');
  if (!check.object('request', asked, "pass an object such as { operation: 'create', path: '/things' }")) check.done();
  const { existing, conflicts } = asked;
  if (conflicts !== undefined && !(Array.isArray(conflicts) && conflicts.every(Number.isInteger)))
    check.refuse('conflicts', conflicts, 'write a list of statuses, for example [409]');
  if (existing !== undefined && check.object('existing', existing, "write { path: '/things/a' }, or leave it out")) {
    check.known(existing, ['path', 'query'], 'existing.');
    const target = targetUrl(client.base, existing.path, existing.query);
    if ('problem' in target) check.refuse('existing.path', existing.path, target.problem);
  }
  check.done();
}

function isGood(status: number): boolean {
  return status >= 200 && status <= 299;
}
