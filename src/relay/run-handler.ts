import { HoldfastError, isHoldfastError } from '../kernel/error.ts';
import type { Effects } from '../kernel/effects.ts';
import { isThenable } from '../kernel/wrapped.ts';
import type { Handle, HandlerTake, HandlingHandler, ProjectingHandler, Projection } from './handler.ts';
import { insideHandler } from '../retry/handler-scope.ts';
import { readPayload } from './read-payload.ts';
import type { DatabaseWatch } from './database-watch.ts';
import type { RelayEvent } from './relay-event.ts';
import type { RelaySession } from './relay-store.ts';
import { commitSafely, faultOf, LocalFault } from './local-fault.ts';
import { runWrapped, type RunWrapper } from './run-wrapper.ts';
import { afterCommit, type Run, type RunOutcome } from './run.ts';

// A type its handler does not know, or a version, is probably known to a newer process: look again soon, count no attempt.
const UNKNOWN_TYPE_MS = 5_000;

/** What it takes to run handlers. */
export interface RunnerHost<Tx> {
  readonly session: RelaySession<Tx>;
  readonly watch: DatabaseWatch;
  readonly effects: Effects;
  readonly wrapRun: RunWrapper | undefined;
  readonly tell: (event: RelayEvent) => void;
  workerId(): string;
  /** The handler is called now. */
  called(run: Run<Tx>): void;
  whenKeySettled(run: Run<Tx>): Promise<void>;
  /** The publish sequence: it grows with each message of a key. */
  nextSequence(run: Run<Tx>): string;
  end(run: Run<Tx>, outcome: RunOutcome): void;
}

/** Calls the handler of one delivery and reports how it ended. */
export function runHandler<Tx>(host: RunnerHost<Tx>, handler: HandlingHandler<Tx>, run: Run<Tx>): void {
  tellStarted(host, run);
  const call = (): unknown => {
    const take = takeOf(handler, run);
    const { payload } = run.delivery;
    if (payload === undefined) return fetchPayload(host, run).then((text) => beginAttempt(host, take, run, text));
    return beginAttempt(host, take, run, payload);
  };
  let result: unknown;
  try {
    result = insideHandler(run, () => runWrapped(host.wrapRun, run, call));
  } catch (error) {
    host.end(run, failureOf(run, error));
    return;
  }
  if (!isThenable(result)) host.end(run, { kind: 'done' });
  else {
    result.then(
      () => host.end(run, { kind: 'done' }),
      (error: unknown) => host.end(run, failureOf(run, error)),
    );
  }
}

/** What the event's schema makes of the payload, handed to the handler; not any more if it was told to stop before. */
function beginAttempt<Tx>(
  host: RunnerHost<Tx>,
  { event, run: handle }: HandlerTake<Handle<unknown, Tx>>,
  run: Run<Tx>,
  text: string,
): unknown {
  const begin = (payload: unknown): unknown => {
    if (run.aborted) throw run.aborted.reason;
    return handle(payload, run);
  };
  if (run.aborted) throw run.aborted.reason;
  host.called(run);
  const payload = readPayload(event, run.delivery, text);
  // Not by a look for `then`: every payload has another shape, and that look would be a slow one.
  return payload instanceof Promise ? payload.then(begin) : begin(payload);
}

/**
 * Runs deliveries of a handler that only touches the database in one transaction, in their order, and finishes them in the
 * same commit. When one of them fails, or loses their connection while the database is there, all is rolled back and the halves run on
 * their own, until the guilty one is alone.
 */
export async function runGroup<Tx>(
  host: RunnerHost<Tx>,
  handler: ProjectingHandler<Tx>,
  runs: readonly Run<Tx>[],
): Promise<void> {
  const ready: Prepared<Tx>[] = [];
  // Ended after the others: what stands before them in their keys has not run yet, and must not find a dead letter before it.
  const unready: { readonly run: Run<Tx>; readonly outcome: RunOutcome }[] = [];
  const unreadyKeys = new Set<string>();
  for (const run of runs) {
    if (run.key !== undefined && unreadyKeys.has(run.key)) {
      unready.push({ run, outcome: { kind: 'interrupted' } });
      continue;
    }
    tellStarted(host, run);
    try {
      const take = takeOf(handler, run);
      ready.push({ run, take, payload: await payloadOf(host, take, run) });
    } catch (error) {
      if (run.key !== undefined) unreadyKeys.add(run.key);
      unready.push({ run, outcome: failureOf(run, error) });
    }
  }
  // Keys one of which did not end well: what follows it in its key goes back in line.
  const stuckKeys = new Set<string>();
  await runTogether(host, ready, stuckKeys);
  for (const { run, outcome } of unready) {
    const isStuck = run.key !== undefined && stuckKeys.has(run.key);
    host.end(run, isStuck ? { kind: 'interrupted' } : outcome);
  }
}

interface Prepared<Tx> {
  readonly run: Run<Tx>;
  readonly take: HandlerTake<Projection<Tx>>;
  readonly payload: unknown;
}

async function runTogether<Tx>(
  host: RunnerHost<Tx>,
  group: readonly Prepared<Tx>[],
  stuckKeys: Set<string>,
): Promise<void> {
  const prepared = group.filter(({ run }) => {
    const isStuck = run.key !== undefined && stuckKeys.has(run.key);
    if (isStuck) host.end(run, { kind: 'interrupted' });
    return !isStuck && !run.isOver;
  });
  const [first] = prepared;
  if (!first) return;
  const failure = await commitTogether(host, prepared);
  if (!failure) return;
  if (prepared.length === 1 || isOfNone(failure)) {
    for (const { run } of prepared) {
      const isStuck = run.key !== undefined && stuckKeys.has(run.key);
      if (run.key !== undefined) stuckKeys.add(run.key);
      host.end(run, isStuck ? { kind: 'interrupted' } : failure);
    }
    return;
  }
  const half = Math.ceil(prepared.length / 2);
  await runTogether(host, prepared.slice(0, half), stuckKeys);
  await runTogether(host, prepared.slice(half), stuckKeys);
}

/** The halves would fare no better. */
function isOfNone(failure: RunOutcome): boolean {
  return failure.kind === 'fault' && failure.fault.blame !== 'run';
}

/** Nothing when all ended; otherwise why not, and nothing of it was kept. */
async function commitTogether<Tx>(
  host: RunnerHost<Tx>,
  prepared: readonly Prepared<Tx>[],
): Promise<RunOutcome | undefined> {
  let failed: RunOutcome | undefined;
  try {
    for (const { run } of prepared) await host.whenKeySettled(run);
    const now = host.effects.monoMs();
    const targets = prepared.map(({ run }) => run.targetAt(now));
    const effects = callsOf(prepared).map((call) => async (tx: Tx) => {
      try {
        await project(host, call, tx);
      } catch (error) {
        failed = failureOf(call[0].run, error);
        throw error;
      }
    });
    const outcome = await commitSafely(host, targets, effects);
    if (outcome === 'committed') for (const { run } of prepared) host.end(run, { kind: 'committed' });
    return outcome === 'committed' ? undefined : afterCommit(outcome);
  } catch (error) {
    return failed ?? { kind: 'failed', error };
  }
}

type Call<Tx> = [first: Prepared<Tx>, ...more: Prepared<Tx>[]];

/** Which messages share a call of their handler: neighbours that one function takes many of at once. */
function callsOf<Tx>(prepared: readonly Prepared<Tx>[]): readonly Call<Tx>[] {
  const calls: Call<Tx>[] = [];
  for (const one of prepared) {
    const last = calls.at(-1);
    const { of, run } = one.take.run;
    if (of === 'all' && last?.[0].take.run.run === run) last.push(one);
    else calls.push([one]);
  }
  return calls;
}

/** Calls the handler once, within the wrapper of each message. */
function project<Tx>({ wrapRun }: RunnerHost<Tx>, call: Call<Tx>, tx: Tx): Promise<unknown> {
  const [{ run, take, payload }] = call;
  const projection = take.run;
  const innermost = async (): Promise<unknown> => {
    if (projection.of === 'each') return projection.run(payload, tx, run);
    return projection.run(
      call.map((one) => ({ payload: one.payload, ctx: one.run })),
      tx,
    );
  };
  if (!wrapRun) return insideHandler(run, innermost);
  const wrapped = call.reduceRight((inner, one) => () => runWrapped(wrapRun, one.run, inner), innermost);
  return insideHandler(run, wrapped);
}

/** What its failure means: its own, or that it was told to stop. */
export function failureOf<Tx>(run: Run<Tx>, error: unknown): RunOutcome {
  if (error instanceof LocalFault) return { kind: 'fault', fault: error };
  if (isHoldfastError(error, 'DELIVERY_TAKEN')) return { kind: 'refused' };
  if (isHoldfastError(error, 'HANDLER_TYPE_UNKNOWN') || isHoldfastError(error, 'PAYLOAD_VERSION_UNKNOWN'))
    return { kind: 'postponed', error, delayMs: UNKNOWN_TYPE_MS, reason: 'type-unknown' };
  if (isHoldfastError(error, 'POSTPONED') && error.details.id === run.id) {
    const { delayMs, reason: message } = error.details;
    // Without its stack: it is no failure, and there may be very many.
    const kept = { name: 'Postponed', code: error.code, message };
    return { kind: 'postponed', error: kept, delayMs, reason: 'postponed' };
  }
  if (!run.aborted) return { kind: 'failed', error };
  const { reason } = run.aborted;
  return isHoldfastError(reason, 'ATTEMPT_TIMEOUT') ? { kind: 'failed', error: reason } : { kind: 'interrupted' };
}

function takeOf<Tx, Take>(
  handler: { readonly name: string; readonly takes: ReadonlyMap<string, Take> },
  run: Run<Tx>,
): Take {
  const take = handler.takes.get(run.type);
  if (!take) throw new HoldfastError('HANDLER_TYPE_UNKNOWN', { handler: handler.name, type: run.type });
  return take;
}

/** The payload as the handler gets it. */
function payloadOf<Tx>(host: RunnerHost<Tx>, { event }: HandlerTake<unknown>, run: Run<Tx>): unknown {
  const { payload } = run.delivery;
  if (payload === undefined) return fetchPayload(host, run).then((text) => readPayload(event, run.delivery, text));
  return readPayload(event, run.delivery, payload);
}

/** The payload of a delivery that was read without it, because it is large. */
export async function fetchPayload<Tx>({ session, watch }: RunnerHost<Tx>, { delivery }: Run<Tx>): Promise<string> {
  const before = watch.known ?? (await watch.look());
  const [row] = await session.fetch([delivery], delivery.unit).catch(async (error: unknown) => {
    throw await faultOf(watch, before, error);
  });
  if (row?.payload === undefined) throw new HoldfastError('DELIVERY_TAKEN', { id: delivery.id });
  return row.payload;
}

export function tellStarted<Tx>(host: RunnerHost<Tx>, { handler, delivery, attempt }: Run<Tx>): void {
  host.tell({ kind: 'run-started', handler, delivery, attempt });
}
