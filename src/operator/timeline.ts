import type { FactRow, MessageRow, RecordRow, TracedArrival, TracedChange, TracedDelivery } from './trace-rows.ts';
import { type TraceEntry, TRACE_STEPS, type TraceStep } from './trace.ts';

type Ids = Readonly<Record<string, string>>;

/** An entry of which only what is known need be said. */
type Said = Pick<TraceEntry, 'at' | 'step' | 'service' | 'what'> & Partial<TraceEntry>;

function entry(said: Said): TraceEntry {
  const nothing = { outcome: undefined, detail: undefined, durationMs: undefined, attempt: undefined };
  return { ...nothing, actor: undefined, reason: undefined, ids: {}, ...said };
}

function place(step: TraceStep): number {
  return TRACE_STEPS.indexOf(step);
}

/** In the order of time; of one moment, in the order in which such things happen. */
export function inOrder(entries: readonly TraceEntry[]): readonly TraceEntry[] {
  return entries.toSorted((a, b) => a.at.getTime() - b.at.getTime() || place(a.step) - place(b.step));
}

const FACT_STEPS: readonly string[] = ['request', 'idempotency', 'call', 'note', 'retry'] satisfies TraceStep[];

/** What a recorded fact says. */
export function factEntry({ at, service, kind, isOk, userId, fields }: FactRow): TraceEntry {
  const { operation, latencyMs, attempt, ...rest } = fields;
  const what = text(operation);
  // Without an operation a note is its text, which need not be said twice.
  const noted = what === undefined ? text(fields.message) : undefined;
  return entry({
    at: new Date(at),
    step: (FACT_STEPS.includes(kind) ? kind : 'note') as TraceStep,
    service,
    what: what ?? noted ?? withoutOperation(fields),
    outcome: isOk === null ? undefined : isOk ? 'ok' : 'failed',
    detail: factDetail(noted === undefined ? fields : { ...fields, message: undefined }),
    durationMs: typeof latencyMs === 'number' ? Math.round(latencyMs) : undefined,
    attempt: typeof attempt === 'number' ? attempt : undefined,
    ids: { ...textFields(rest), ...(userId === null ? {} : { userId }) },
  });
}

function withoutOperation({ method, url }: FactRow['fields']): string {
  return [text(method), text(url)].filter((part) => part !== undefined).join(' ') || 'unnamed';
}

/** Fields that are no ids: they stand in the text. */
const IN_DETAIL = ['message', 'errorClass', 'error', 'method', 'url', 'outcome'];

function textFields(fields: Readonly<Record<string, unknown>>): Ids {
  const texts = Object.entries(fields).filter(
    ([name, value]) => typeof value === 'string' && !IN_DETAIL.includes(name),
  );
  return Object.fromEntries(texts) as Ids;
}

function factDetail(fields: FactRow['fields']): string | undefined {
  const { httpStatus, attempt, maxAttempts, outcome, message, errorClass, error, retryable } = fields;
  const of = typeof maxAttempts === 'number' ? ` of ${maxAttempts}` : '';
  const parts = [
    typeof httpStatus === 'number' ? `status ${httpStatus}` : undefined,
    text(message),
    text(error) ?? text(errorClass),
    typeof attempt === 'number' ? `attempt ${attempt}${of}` : undefined,
    text(outcome),
    retryable === true ? 'may be tried again' : retryable === false ? 'not to be tried again' : undefined,
  ];
  return parts.filter((part) => part !== undefined).join(', ') || undefined;
}

/** Where an idempotency record stands. */
export function recordEntry({ id, domain, status, run, updatedAt, expiresAt }: RecordRow): TraceEntry {
  const runs = run === 1 ? '1 run' : `${run} runs`;
  return entry({
    at: new Date(updatedAt),
    step: 'idempotency',
    service: undefined,
    what: domain,
    outcome: status === 'completed' ? 'ok' : status === 'processing' ? 'waiting' : 'failed',
    detail: `its record is ${status} after ${runs}, and kept until ${new Date(expiresAt).toISOString()}`,
    ids: { recordId: id },
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * What is known of a message, from its sending to what is left to do. `now` is the moment of asking. Of the message of a command
 * only what its steps do not tell.
 */
export function messageEntries(message: MessageRow, now: Date, isCommand: boolean): readonly TraceEntry[] {
  const { arrivals, changes, deliveries } = message;
  if (isCommand) {
    const open = deliveries.flatMap((delivery) => deliveryEntries(message, delivery, now));
    return [...open.filter(({ step }) => step === 'open'), ...(changes ?? []).map((one) => changeEntry(message, one))];
  }
  return [
    ...sentEntry(message),
    ...(arrivals ?? []).flatMap((arrival) => arrivalEntries(message, arrival)),
    ...deliveries.flatMap((delivery) => deliveryEntries(message, delivery, now)),
    ...withoutEnds(changes ?? [], deliveries).map((change) => changeEntry(message, change)),
  ];
}

/** Handlers that publish are named after their transport. */
const PUBLISHES = /^to-/;

function sentEntry(message: MessageRow): readonly TraceEntry[] {
  const { arrivals, deliveries, source, type, createdAt } = message;
  // Of a message from another database only the arrival is known; one that was published here has a publisher.
  if (arrivals !== null && !deliveries.some(({ name }) => PUBLISHES.test(name ?? ''))) return [];
  return [entry({ at: new Date(createdAt), step: 'sent', service: source, what: type, ids: envelopeIds(message) })];
}

function envelopeIds({ id, key, idempotencyKey, correlationId, causationId }: MessageRow): Ids {
  const ids = { eventId: id, key, idempotencyKey, correlationId, causationId };
  return Object.fromEntries(Object.entries(ids).filter((pair): pair is [string, string] => pair[1] !== null));
}

function arrivalEntries(message: MessageRow, arrival: TracedArrival): readonly TraceEntry[] {
  const { takenAs, sourceId, firstAt, lastAt, times } = arrival;
  const service = /^<([^/]+)\//.exec(takenAs)?.[1];
  const about = { step: 'received', service, what: message.type } as const;
  const first = { at: new Date(firstAt), detail: `from ${message.source}`, ids: { ...envelopeIds(message), sourceId } };
  if (times === 1) return [entry({ ...about, ...first, outcome: 'ok' })];
  const again = `came ${times} times in all, and was taken once`;
  return [
    entry({ ...about, ...first, outcome: 'ok' }),
    entry({ ...about, at: new Date(lastAt), detail: again, ids: { eventId: message.id } }),
  ];
}

function deliveryEntries(message: MessageRow, delivery: TracedDelivery, now: Date): readonly TraceEntry[] {
  const { status, failureHistory, firstFailedAt, failedAt, attempts, error } = delivery;
  const about = aboutDelivery(message, delivery);
  const earlier = failureHistory.flatMap((cycle) => [
    ...firstFailure(about, cycle.firstFailedAt, cycle.attempts),
    dead(about, cycle.failedAt, cycle.attempts, cycle.error),
  ]);
  // The history of what was discarded has its last cycle too.
  const isTold = failureHistory.some(({ cycle }) => cycle === delivery.cycle);
  const present = isTold ? [] : firstFailure(about, firstFailedAt, attempts);
  if (status === 'failed') return [...earlier, ...present, dead(about, failedAt, attempts, error)];
  return [...earlier, ...present, endOf(about, delivery) ?? openEntry(about, message, delivery, now)];
}

type AboutDelivery = Pick<TraceEntry, 'service' | 'what' | 'ids'>;

function aboutDelivery({ id, type }: MessageRow, { service, name, handler }: TracedDelivery): AboutDelivery {
  const what = name === null ? `${type} → no handler` : `${type} → ${name}`;
  return { service: service ?? undefined, what, ids: { eventId: id, dlqId: `${id}:${handler}` } };
}

/** Of several attempts the first failure is known, and the last: where there was one, that is told as the end. */
function firstFailure(about: AboutDelivery, at: string | null, attempts: number): readonly TraceEntry[] {
  if (at === null || attempts < 2) return [];
  const detail = `attempt 1 failed, ${attempts} in all`;
  return [entry({ ...about, at: new Date(at), step: 'retry', outcome: 'failed', attempt: 1, detail })];
}

function dead(
  about: AboutDelivery,
  at: string | null,
  attempts: number,
  error: Omit<NonNullable<TracedDelivery['error']>, 'stack'> | null,
): TraceEntry {
  const detail = `${error === null ? '' : `${errorText(error)}, `}dead letter after ${counted(attempts)}`;
  return entry({ ...about, at: new Date(at ?? 0), step: 'dead', outcome: 'failed', attempt: attempts, detail });
}

function counted(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}

/** An error in one line. */
export function errorText({
  name,
  code,
  message,
}: {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
}): string {
  return `${name}${code === undefined ? '' : ` (${code})`}: ${message}`;
}

const END_STEPS = { delivered: 'handled', discarded: 'discarded', cancelled: 'cancelled' } as const;

function endOf(about: AboutDelivery, delivery: TracedDelivery): TraceEntry | undefined {
  const { status, doneAt, durationMs, attempts, cycle, rerun, actor, reason } = delivery;
  if (status !== 'delivered' && status !== 'discarded' && status !== 'cancelled') return undefined;
  const byHand = { actor: actor ?? undefined, reason: reason ?? undefined };
  const times = [
    attempts > 1 ? `attempt ${attempts}` : undefined,
    cycle > 0 ? `replay ${cycle}` : undefined,
    rerun > 0 ? `rerun ${rerun}` : undefined,
    actor === null ? undefined : `by ${actor}${reason === null ? '' : `: ${reason}`}`,
  ];
  return entry({
    ...about,
    ...byHand,
    at: new Date(doneAt ?? 0),
    step: END_STEPS[status],
    outcome: status === 'delivered' ? 'ok' : undefined,
    durationMs: durationMs ?? undefined,
    attempt: attempts || undefined,
    detail: times.filter((part) => part !== undefined).join(', ') || undefined,
  });
}

function openEntry(about: AboutDelivery, { id }: MessageRow, delivery: TracedDelivery, now: Date): TraceEntry {
  const { running, dueAt, attempts, error, name } = delivery;
  const open = { ...about, step: 'open', outcome: 'waiting' } as const;
  if (running !== null) {
    const at = new Date(running.startedAt);
    return entry({
      ...open,
      at,
      attempt: running.attempt,
      detail: `running on ${running.worker}, attempt ${running.attempt}`,
    });
  }
  const failed = error === null || attempts === 0 ? '' : ` after ${counted(attempts)}: ${errorText(error)}`;
  const why =
    name === null ? 'no handler takes it' : dueAt === null ? `not yet run; holdfast why ${id} tells more` : undefined;
  return entry({ ...open, at: now, detail: why ?? `waits until ${dueAt}${failed}` });
}

/** Without the last discard or cancel of each handler whose end says the same. */
function withoutEnds(changes: readonly TracedChange[], deliveries: readonly TracedDelivery[]): readonly TracedChange[] {
  const told = new Set<TracedChange | undefined>();
  for (const { handler, status, actor } of deliveries) {
    const verb = { discarded: 'discard', cancelled: 'cancel' }[status as string];
    if (verb === undefined) continue;
    const isSame = (change: TracedChange): boolean =>
      change.verb === verb && change.actor === actor && (change.handler ?? handler) === handler;
    told.add(changes.findLast(isSame));
  }
  return changes.filter((change) => !told.has(change));
}

function changeEntry(message: MessageRow, change: TracedChange): TraceEntry {
  const { at, verb, actor, reason, service, name, details, handler } = change;
  const { version, generation } = details;
  const to = name === null ? message.type : `${message.type} → ${name}`;
  const what = typeof version === 'number' ? `${verb} to version ${version} of ${to}` : `${verb} of ${to}`;
  const into = typeof generation === 'number' ? `, into generation ${generation}` : '';
  return entry({
    at: new Date(at),
    step: 'by-hand',
    service: service ?? undefined,
    what,
    outcome: 'ok',
    detail: `by ${actor}${into}${reason === null ? '' : `: ${reason}`}`,
    actor,
    reason: reason ?? undefined,
    ids: { eventId: message.id, ...(handler === null ? {} : { dlqId: `${message.id}:${handler}` }) },
  });
}
