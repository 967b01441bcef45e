import { OptionCheck } from '../../kernel/check-options.ts';
import { HoldfastError, isHoldfastError } from '../../kernel/error.ts';
import { bareEnvelope } from '../../outbox/envelope.ts';
import type { EventDefinition } from '../../outbox/event.ts';
import { serializePayload } from '../../outbox/payload.ts';
import { VERSION_HEADER } from '../../outbox/stored-payload.ts';
import { type HandlerContext, type HandlerDefinition, rulesOf } from '../../relay/handler.ts';
import type { Delivery, DeliveryError } from '../../relay/relay-store.ts';
import { planFailure } from '../../relay/run-failure.ts';
import { readPayload } from '../../relay/read-payload.ts';
import { initialState } from '../../retry/state.ts';
import type { Holdfast } from '../../service/holdfast.ts';
import { systemEffects } from '../../system/effects.ts';
import { newId } from '../../system/new-id.ts';
import { partsOf } from './parts.ts';
import { withoutOutages } from './without-outages.ts';

/** What `tryHandler` takes besides the message. Every field may be left out. */
export interface TryOptions<Tx> {
  /** Which attempt it is, from 1. Default 1. */
  readonly attempt?: number | undefined;
  /** How often an operator has replayed it. Default 0. */
  readonly replays?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What the handler gets as `ctx.signal`. Default: one that is never aborted. */
  readonly signal?: AbortSignal | undefined;
  /** The transaction for `ctx.commit` and for projections: begun, committed and rolled back by the test. */
  readonly tx?: Tx | undefined;
}

/** How the attempt ended, and what the engine would do next. */
export type TriedOutcome =
  | { readonly kind: 'done' }
  | { /** By `ctx.commit`, or as a projection. */ readonly kind: 'committed' }
  | { readonly kind: 'postponed'; readonly delayMs: number; readonly reason: string }
  | {
      readonly kind: 'failed';
      /** As it was thrown. */
      readonly error: unknown;
      /** As it would be kept. */
      readonly kept: DeliveryError;
      readonly next:
        | { readonly kind: 'retry'; readonly delayMs: number }
        | { readonly kind: 'dead'; readonly reason: string };
    };

const FIELDS: readonly (keyof TryOptions<unknown>)[] = ['attempt', 'replays', 'headers', 'signal', 'tx'];

/**
 * Runs one handler for one message, without a store and without starting anything. The payload goes the way it really goes: checked
 * as by `send`, through JSON, then through the event's schema. What the handler throws is judged by its own policy and classifiers; as in a
 * drain, an outage spends an attempt like any other failure.
 */
export async function tryHandler<Tx, SendTx, Input, Output>(
  hf: Holdfast<Tx, SendTx>,
  handler: string,
  event: EventDefinition<Input, Output>,
  payload: Input,
  options: TryOptions<Tx> = {},
): Promise<TriedOutcome> {
  const { about, registry } = partsOf('tryHandler()', hf);
  const definition = withoutOutages(checkedHandler(registry.all, handler, event.type, options));
  const text = await serializePayload(event, payload);
  const delivery = deliveryOf(about.service, event, event.key?.(payload), text, options);
  const run = new TriedRun(definition, delivery, options);
  const startedAt = systemEffects.now();
  try {
    await call(definition, run, await readPayload(event, delivery, text));
    return { kind: run.hasCommitted || definition.kind === 'project' ? 'committed' : 'done' };
  } catch (error) {
    if (isHoldfastError(error, 'POSTPONED') && error.details.id === delivery.id)
      return { kind: 'postponed', delayMs: error.details.delayMs, reason: error.details.reason };
    const target = { token: { unit: 0, epoch: 0 }, seq: 0, state: 'ready', version: 0, cycle: delivery.cycle } as const;
    const now = systemEffects.now();
    const dlqId = delivery.id;
    const { event: failed } = planFailure(definition, { delivery, dlqId, target, error, startedAt, now, random: 0.5 });
    const { next } = failed;
    // It is no dead letter that could be shown.
    const told = next.kind === 'dead' ? { kind: next.kind, reason: next.reason } : next;
    return { kind: 'failed', error, kept: failed.error, next: told };
  }
}

/** What its handler is given. */
class TriedRun<Tx> {
  hasCommitted = false;
  readonly tx: Tx | undefined;
  readonly context: HandlerContext<Tx>;

  constructor(handler: HandlerDefinition<Tx>, delivery: Delivery, options: TryOptions<Tx>) {
    const { id, type, key, source, target, generation, correlationId, causationId, traceparent } = delivery;
    this.tx = options.tx;
    this.context = {
      id,
      type,
      key,
      handler: handler.name,
      attempt: delivery.attempts + 1,
      maxAttempts: rulesOf(handler, type).policy.maxAttempts,
      replays: delivery.cycle,
      idempotencyKey: `${delivery.idempotencyKey}:${handler.name}`,
      signal: options.signal ?? new AbortController().signal,
      source,
      target,
      headers: delivery.headers ?? {},
      generation,
      correlationId,
      causationId,
      traceparent,
      createdAt: new Date(delivery.createdAtMs),
      commit: async (effect) => {
        if (this.hasCommitted) throw new HoldfastError('COMMITTED_TWICE', { id, handler: handler.name });
        await effect(this.transaction());
        this.hasCommitted = true;
      },
      postpone: (delayMs, reason) => {
        throw new HoldfastError('POSTPONED', { id, delayMs, reason });
      },
    };
  }

  transaction(): Tx {
    if (this.tx !== undefined) return this.tx;
    const check = new OptionCheck('tryHandler()');
    check.refuse('tx', this.tx, 'pass the transaction it commits in, begun by the test: { tx }');
    check.done();
    throw new TypeError('unreachable');
  }
}

async function call<Tx>(handler: HandlerDefinition<Tx>, run: TriedRun<Tx>, payload: unknown): Promise<void> {
  const { type } = run.context;
  if (handler.kind === 'handle') await handler.takes.get(type)?.run(payload, run.context);
  if (handler.kind !== 'project') return;
  const projection = handler.takes.get(type)?.run;
  if (projection?.of === 'each') await projection.run(payload, run.transaction(), run.context);
  else await projection?.run([{ payload, ctx: run.context }], run.transaction());
}

function checkedHandler<Tx>(
  handlers: ReadonlyMap<string, HandlerDefinition<Tx>>,
  name: string,
  type: string,
  options: TryOptions<Tx>,
): HandlerDefinition<Tx> {
  const check = new OptionCheck('tryHandler()');
  check.known(options, FIELDS);
  const { attempt = 1, replays = 0 } = options;
  check.number('attempt', attempt, { min: 1, integer: true, write: 'write a whole number from 1' });
  check.number('replays', replays, { min: 0, integer: true, write: 'write a whole number from 0' });
  const handler = handlers.get(name);
  if (!handler) check.refuseName('handler', name, `write one that is registered: ${[...handlers.keys()].join(', ')}`);
  else if (!handler.takes.has(type))
    check.refuseName('event', type, `send it what it takes: ${[...handler.takes.keys()].join(', ')}`);
  check.done();
  return handler as HandlerDefinition<Tx>;
}

function deliveryOf<Tx>(
  service: string,
  { type, version }: Pick<EventDefinition<never>, 'type' | 'version'>,
  key: string | undefined,
  payload: string,
  { attempt = 1, replays = 0, headers }: TryOptions<Tx>,
): Delivery {
  const id = newId();
  const now = systemEffects.now();
  const attempts = attempt - 1;
  return {
    ...bareEnvelope(service),
    headers: version > 1 ? { ...headers, [VERSION_HEADER]: String(version) } : headers,
    correlationId: id,
    id,
    type,
    key,
    payload,
    unit: 0,
    seq: 0,
    state: 'ready',
    version: 0,
    attempts,
    cycle: replays,
    rerun: 0,
    retry: attempts === 0 ? undefined : { ...initialState(now), attempts },
    starts: 0,
    idempotencyKey: id,
    createdAtMs: now.wallMs,
  };
}
