import type { IdempotencyEvent, IdempotencyObserver } from '../../idempotency/idempotency-event.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import type { Effects } from '../../kernel/effects.ts';
import type { LogFields } from '../../kernel/log.ts';
import type { RelayEvent, RelayObserver } from '../../relay/relay-event.ts';
import { systemEffects } from '../../system/effects.ts';
import { findDriver, poolAdvice, type SqlPool } from '../driver/find-driver.ts';
import { quotedSchema } from '../schema-name.ts';
import { type FactKind, factLine } from './fact-line.ts';
import { FactWriter, type LostFacts } from './fact-writer.ts';

/** What `factRecorder` takes. `service` and `pool` must be there. */
export interface FactRecorderOptions {
  /** The name of this service, as `holdfast()` has it. */
  readonly service: string;
  /** A pg `Pool`, the `sql` of postgres.js, or a PGlite database. Facts are written over a connection of their own, made like its. */
  readonly pool: SqlPool;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How many facts wait at most while the database does not take them; what comes then is lost. Default 10,000. */
  readonly maxWaiting?: number | undefined;
  /** Is told of facts that are lost. What it throws is dropped. */
  readonly onLost?: ((lost: LostFacts) => void) | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

/**
 * Keeps what leaves no row of its own, for `holdfast trace`. Each method returns at once, never throws and never waits for the
 * database; each may be handed on without its object (`onAttempt: facts.call`).
 */
export interface FactRecorder {
  /** A route was asked and has answered: `operation` names it, `latencyMs` is how long it took, `httpStatus` what it answered. */
  readonly request: (fields: LogFields) => void;
  /** One attempt of an outgoing call has ended: what `onAttempt` of `serviceClient` tells. `errorClass` is there if it failed. */
  readonly call: (fields: LogFields) => void;
  /** Anything else that belongs to an action, in a few words. */
  readonly note: (message: string, fields: LogFields) => void;
  /** What became of a guarded request or job: an observer for `idempotency()`. Finds its record by its key, which is not stored there. */
  readonly idempotency: IdempotencyObserver;
  /** Failed attempts of handlers that are tried again: an observer for `start()`. The rest of what handlers do is in the tables anyway. */
  readonly relay: RelayObserver;
  /** How many were written, lost, and wait. */
  counts(): { readonly kept: number; readonly lost: number; readonly waiting: number };
  /** Writes what waits, and ends. Answers after `timeoutMs` (default 5,000) at the latest; what is left then is lost. May be called twice. */
  stop(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
}

const STOP_MS = 5_000;

/**
 * Records requests and outgoing calls in the database of the outbox, in the background and many at once; run `migrate` once before.
 * Facts are for looking things up, not for the books: they are bounded, they may be lost, and what is lost is told. What looks
 * like a secret is hidden before it is kept. They are forgotten with the history.
 */
export function factRecorder(options: FactRecorderOptions): FactRecorder {
  const plan = checked(options);
  const { service, effects, writer } = plan;
  const record = (kind: FactKind, isOk: boolean | undefined, fields: LogFields): void => {
    try {
      const { latencyMs } = fields;
      const tookMs = typeof latencyMs === 'number' && latencyMs > 0 && latencyMs < LONGEST_MS ? latencyMs : 0;
      writer.add(factLine({ service, kind, isOk, atMs: effects.now().wallMs - tookMs }, fields));
    } catch {
      // Whatever was passed: who records is not to fail because of it.
    }
  };
  return {
    request: (fields) => record('request', statusIsOk(fields), fields),
    call: (fields) =>
      record('call', fields?.['errorClass'] === undefined && !(Number(fields?.httpStatus) >= 500), fields),
    note: (message, fields) => record('note', undefined, { ...fields, message }),
    idempotency: (event) => {
      const told = idempotencyFact(event);
      if (told) record('idempotency', told.isOk, told.fields);
    },
    relay: (event) => {
      const fields = retryFields(event);
      if (fields) record('retry', false, fields);
    },
    counts: () => writer.counts,
    stop: ({ timeoutMs = STOP_MS } = {}) => writer.stop(timeoutMs),
  };
}

function checked(options: FactRecorderOptions): {
  readonly service: string;
  readonly effects: Effects;
  readonly writer: FactWriter;
} {
  const check = new OptionCheck('factRecorder()');
  if (!check.object('options', options, "pass { service: 'orders', pool }")) check.done();
  check.known(options, ['service', 'pool', 'schema', 'maxWaiting', 'onLost', 'effects']);
  const { service, pool, maxWaiting = 10_000, onLost, effects = systemEffects } = options;
  if (typeof service !== 'string' || service === '') check.refuse('service', service, "name it, for example 'orders'");
  check.number('maxWaiting', maxWaiting, { min: 1, integer: true, write: 'write a whole number from 1' });
  if (onLost !== undefined && typeof onLost !== 'function') check.refuse('onLost', onLost, 'pass a function');
  const driver = findDriver(pool, effects);
  if (driver === undefined) check.refuse('pool', pool, poolAdvice(pool));
  check.done();
  const schema = quotedSchema('factRecorder()', options.schema);
  // Without one the check has thrown.
  const link = (driver as NonNullable<typeof driver>).link();
  return { service, effects, writer: new FactWriter({ link, schema, maxWaiting, onLost, effects }) };
}

/** What is said to have taken longer took no time: the database would refuse such a beginning, and all facts that are written with it. */
const LONGEST_MS = 366 * 86_400_000;

const FIRST_ERROR_STATUS = 400;

function statusIsOk(fields: LogFields): boolean | undefined {
  const status = fields?.httpStatus;
  return typeof status === 'number' ? status < FIRST_ERROR_STATUS : undefined;
}

/** What is worth a line: how a request was let in or answered, and how its run ended. */
const IDEMPOTENCY_OUTCOMES: Partial<
  Record<IdempotencyEvent['kind'], { readonly text: string; readonly isOk?: boolean }>
> = {
  first: { text: 'let in' },
  'taken-over': { text: 'let in after a run that was lost' },
  replayed: { text: 'answered with what was kept', isOk: true },
  'in-flight': { text: 'refused, another run is under way', isOk: false },
  mismatch: { text: 'refused, the key was used for another request', isOk: false },
  unknown: { text: 'refused, nobody knows how an earlier run ended', isOk: false },
  'store-down': { text: 'refused, no idempotency store answered', isOk: false },
  unguarded: { text: 'let in without a guard, no idempotency store answered', isOk: false },
  finished: { text: 'run kept', isOk: true },
  released: { text: 'run ended without an effect' },
  doubted: { text: 'run ended in doubt', isOk: false },
  late: { text: 'run ended too late, another had taken over', isOk: false },
};

function idempotencyFact(
  event: IdempotencyEvent,
): { readonly isOk: boolean | undefined; readonly fields: LogFields } | undefined {
  const known = IDEMPOTENCY_OUTCOMES[event.kind];
  if (!known || !('about' in event) || event.about === undefined) return undefined;
  const { domain, key, id } = event.about;
  const run = 'run' in event ? { attempt: event.run } : {};
  const took = 'runMs' in event ? { latencyMs: event.runMs } : {};
  const fields = { operation: domain, idempotencyKey: key, recordId: id, outcome: known.text, ...run, ...took };
  return { isOk: known.isOk, fields };
}

function retryFields(event: RelayEvent): LogFields | undefined {
  if (event.kind !== 'run-failed' || event.next.kind !== 'retry') return undefined;
  const { delivery, handler, attempt, maxAttempts, durationMs, failure, error, next } = event;
  const { id, type, idempotencyKey, correlationId } = delivery;
  return {
    operation: `${type} → ${handler}`,
    eventId: id,
    idempotencyKey,
    ...(correlationId === undefined ? {} : { correlationId }),
    attempt,
    maxAttempts,
    latencyMs: durationMs,
    errorClass: failure.code === undefined ? failure.kind : `${failure.kind} ${failure.code}`,
    error: `${error.name}: ${error.message}`,
    outcome: `tried again in ${next.delayMs} ms`,
  };
}
