import type { Effects } from '../kernel/effects.ts';
import type { HandlerContext } from '../relay/handler.ts';
import type { Failure } from '../retry/failure.ts';
import { policy } from '../retry/policy.ts';
import { constant } from '../retry/schedule.ts';
import { newId } from '../system/new-id.ts';
import type { AddressGuard } from './address-guard.ts';
import { nextAttempt, type NextAttempt } from './attempt-policy.ts';
import { callbacksOf } from './callback-request.ts';
import type { AttemptReport } from './delivery-log.ts';
import { DeliveryFailed } from './delivery-failed.ts';
import type { DeliveryLines } from './delivery-lines.ts';
import { type DeliveryRequest, lineOf, storedFlowKey } from './delivery-request.ts';
import type { GateEnd } from './destination-gate.ts';
import type { DestinationGates } from './destination-gates.ts';
import { type CallOutcome, exchange, type ExchangeHost } from './exchange.ts';
import { outgoingHeaders } from './outgoing-headers.ts';
import type { ReportBatcher } from './report-batcher.ts';
import { isFinalAnswer, readWait } from './response-hints.ts';
import type { SenderStore } from './sender-store.ts';
import { signQstash } from './sign-qstash.ts';
import { signStandard } from './sign-standard.ts';

/** What deliveries are made with. */
export interface DeliverHost extends ExchangeHost {
  readonly effects: Effects;
  readonly store: Pick<
    SenderStore,
    'takeRate' | 'flow' | 'signingKeys' | 'endpoint' | 'noteEndpoint' | 'changeDestination'
  >;
  readonly guard: AddressGuard;
  readonly gates: DestinationGates;
  readonly lines: DeliveryLines;
  readonly reports: ReportBatcher;
  /** How long an attempt may take where its message does not say, and at most. */
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly storeFailed: (error: unknown) => void;
}

type Context = Pick<HandlerContext<unknown>, 'id' | 'attempt' | 'replays' | 'createdAt' | 'signal' | 'postpone'>;

// An operator may give a rate anew: nobody sleeps through that for longer. Whoever wakes early waits in line, which costs nothing.
const LONGEST_TURN_MS = 60_000;
// The log could not be written, so the engine is not told either: it is delivered once more, under the same number.
const UNWRITTEN_MS = 5_000;
// The database was away when something had to be asked before it could be sent.
const UNASKED_MS = 1_000;
// By then its line is known to be closed here, and it stands in it until the endpoint is enabled.
const DISABLED_MS = 1_000;

/** The handler: makes one attempt, tells how it ended, and throws `DeliveryFailed` where it did not succeed. */
export async function deliver(host: DeliverHost, sent: DeliveryRequest, ctx: Context): Promise<void> {
  try {
    const { request, secrets } = await whereItGoes(host, sent, ctx);
    const checked = host.guard.checkUrl(request.url);
    if (checked.kind === 'refused') {
      const now = new Date(host.effects.now().wallMs);
      return await conclude(host, request, ctx, now, { kind: 'failed', why: 'final', error: checked.why });
    }
    const timeoutMs = Math.min(host.maxTimeoutMs, request.timeoutMs ?? host.timeoutMs);
    const pass = await host.gates.enter(checked.url.origin, ctx.id, timeoutMs);
    if (pass.kind === 'wait') return ctx.postpone(pass.delayMs, 'the breaker of its destination is open');
    let said: GateEnd = { kind: 'undecided' };
    try {
      await keepRate(host, request, ctx);
      const startedAt = new Date(host.effects.now().wallMs);
      const outcome = await attempt(host, { ...request, timeoutMs }, checked.url, secrets, ctx);
      said = gateEnd(outcome, host.effects.now().wallMs);
      await conclude(host, request, ctx, startedAt, outcome);
    } finally {
      pass.leave(said);
    }
  } finally {
    host.lines.ended();
  }
}

/** What is sent to an endpoint goes where that is now, signed by the secrets it has now; none: it was deleted. */
async function whereItGoes(
  host: DeliverHost,
  request: DeliveryRequest,
  ctx: Context,
): Promise<{ readonly request: DeliveryRequest; readonly secrets: readonly string[] }> {
  if (request.endpointId === undefined) return { request, secrets: [] };
  const sight = await asked(host, ctx, host.store.endpoint(request.endpointId));
  if (sight === 'disabled') return ctx.postpone(DISABLED_MS, 'its endpoint is disabled');
  if (sight === undefined) return { request, secrets: [] };
  const { url, headers, timeoutMs = request.timeoutMs, secrets } = sight;
  return { request: { ...request, url, headers: { ...request.headers, ...headers }, timeoutMs }, secrets };
}

/** What the database says. Where it does not, nothing was sent and no attempt is counted. */
async function asked<T>({ storeFailed }: DeliverHost, ctx: Context, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    storeFailed(error);
    return ctx.postpone(UNASKED_MS, 'the database did not answer');
  }
}

/** Waits for its turn where its flow-control key allows so many a period; the whole line waits with it. */
async function keepRate(host: DeliverHost, request: DeliveryRequest, ctx: Context): Promise<void> {
  const flowKey = storedFlowKey(request);
  const { store, lines } = host;
  if (flowKey === undefined || store.flow(flowKey)?.rate === undefined) return;
  const { waitMs } = await asked(host, ctx, store.takeRate(flowKey));
  if (waitMs === undefined) return;
  lines.rest(lineOf(request), waitMs);
  ctx.postpone(Math.min(waitMs, LONGEST_TURN_MS), 'the rate of its flow-control key is used up');
}

async function attempt(
  host: DeliverHost,
  request: DeliveryRequest & { readonly timeoutMs: number },
  url: URL,
  secrets: readonly string[],
  ctx: Context,
): Promise<CallOutcome> {
  const { bodyBase64, body = bodyBase64 === undefined ? '' : Buffer.from(bodyBase64, 'base64') } = request;
  const signature = await asked(host, ctx, signatureOf(host, request, secrets, ctx.id, body));
  if (!signature) return { kind: 'failed', why: 'final', error: 'the endpoint was deleted' };
  const facts = { messageId: ctx.id, attempt: ctx.attempt, bodyLength: Buffer.byteLength(body), signature };
  const headers = outgoingHeaders(request, facts);
  const { method, timeoutMs } = request;
  return exchange(host, { url, method, headers, body, timeoutMs, signal: ctx.signal });
}

async function signatureOf(
  { store, effects }: DeliverHost,
  { signedBy, url, tenant }: DeliveryRequest,
  secrets: readonly string[],
  messageId: string,
  body: Uint8Array | string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const nowMs = effects.now().wallMs;
  if (signedBy === 'server') {
    const { current } = await store.signingKeys(tenant);
    return { 'Upstash-Signature': signQstash({ key: current, url, body, nowMs, tokenId: `jwt_${newId()}` }) };
  }
  return secrets.length === 0 ? undefined : signStandard({ secrets, messageId, nowMs, body });
}

// Away, or asking to be left alone. 500 is what an application answers that fails by itself.
const DOWN_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function gateEnd(outcome: CallOutcome, nowMs: number): GateEnd {
  if (outcome.kind === 'failed')
    return wasCalled(outcome) ? { kind: 'down', error: outcome.error } : { kind: 'undecided' };
  const { status, headers } = outcome;
  if (!DOWN_STATUSES.has(status)) return { kind: 'well' };
  return { kind: 'down', error: `it answered ${status}`, askedMs: readWait(headers, nowMs) };
}

/** Writes how it ended before the engine is told. */
async function conclude(
  host: DeliverHost,
  request: DeliveryRequest,
  ctx: Context,
  startedAt: Date,
  outcome: CallOutcome,
): Promise<void> {
  const endedMs = host.effects.now().wallMs;
  const isWell = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;
  const next = isWell ? undefined : whatNext(request, ctx, outcome, endedMs, host.effects.random());
  const told: AttemptReport = {
    messageId: ctx.id,
    request,
    attempt: ctx.attempt,
    cycle: ctx.replays,
    startedAt,
    endedAt: new Date(endedMs),
    state: next === undefined ? 'DELIVERED' : next.kind === 'wait' ? 'ERROR' : 'FAILED',
    ...(next?.kind === 'wait' && { nextAt: new Date(endedMs + next.delayMs) }),
    ...(next !== undefined && { error: problemOf(outcome) }),
    ...(outcome.kind === 'answered' && {
      responseStatus: outcome.status,
      responseHeaders: outcome.headers,
      responseBody: outcome.body,
    }),
  };
  await write(host, told, ctx);
  if (request.endpointId !== undefined && wasCalled(outcome)) await note(host, request.endpointId, outcome, isWell);
  if (next !== undefined) throw failureFor(request, outcome, next);
}

function whatNext(
  request: DeliveryRequest,
  { attempt: number }: Context,
  outcome: CallOutcome,
  nowMs: number,
  random: number,
): NextAttempt {
  if (outcome.kind === 'failed') {
    const isFinal = outcome.why === 'final' || outcome.why === 'invalid';
    return nextAttempt(request, { attempt: number, isFinal, random });
  }
  const { status, headers } = outcome;
  // An endpoint that is gone is not called any more: Standard Webhooks.
  const isFinal = isFinalAnswer(status, headers) || (request.signedBy === 'endpoint' && status === 410);
  return nextAttempt(request, { attempt: number, askedMs: readWait(headers, nowMs), isFinal, random });
}

async function write({ reports }: DeliverHost, told: AttemptReport, ctx: Context): Promise<void> {
  const callbacks = callbacksOf({ ...told, createdAt: ctx.createdAt });
  try {
    await reports.add({ ...told, callbacks });
  } catch {
    ctx.postpone(UNWRITTEN_MS, 'how it ended could not be written');
  }
}

async function note(
  { store, storeFailed }: DeliverHost,
  endpointId: string,
  outcome: CallOutcome,
  isWell: boolean,
): Promise<void> {
  const isGone = outcome.kind === 'answered' && outcome.status === 410;
  try {
    await store.noteEndpoint(endpointId, isWell ? 'well' : isGone ? 'gone' : 'failed');
  } catch (error) {
    // Told again by the next delivery.
    storeFailed(error);
  }
}

/** It says something about who is called: it was, or would have been. */
function wasCalled(outcome: CallOutcome): boolean {
  return outcome.kind === 'answered' || outcome.why === 'timeout' || outcome.why === 'network';
}

function problemOf(outcome: CallOutcome): string {
  if (outcome.kind === 'failed') return outcome.error;
  const { status, headers } = outcome;
  const location = status >= 300 && status < 400 ? headers['Location']?.[0] : undefined;
  if (location !== undefined) return `the destination answered ${status} and redirects, which is not followed`;
  return `the destination answered ${status}`;
}

/** The engine decides by the same facts: so many attempts, this wait. */
function failureFor(request: DeliveryRequest, outcome: CallOutcome, next: NextAttempt): DeliveryFailed {
  const { retries } = request;
  const failure: Failure = { verdict: next.kind === 'wait' ? 'retry' : 'fail', ...factsOf(outcome) };
  const delayMs = next.kind === 'wait' ? next.delayMs : 0;
  const rules = policy({ maxAttempts: retries + 1, schedule: constant(delayMs), timeoutMs: Infinity });
  return new DeliveryFailed(problemOf(outcome), failure, rules);
}

function factsOf(outcome: CallOutcome): Pick<Failure, 'kind' | 'status' | 'code'> {
  if (outcome.kind === 'answered') {
    const { status } = outcome;
    return { kind: status === 429 ? 'rate-limit' : 'http', status, code: `HTTP_${status}` };
  }
  const { why } = outcome;
  if (why === 'timeout') return { kind: 'timeout', code: 'DELIVERY_TIMEOUT' };
  return why === 'network'
    ? { kind: 'network', code: 'DELIVERY_UNANSWERED' }
    : { kind: 'invalid', code: 'DELIVERY_REFUSED' };
}
