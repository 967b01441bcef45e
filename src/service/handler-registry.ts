import { OptionCheck } from '../kernel/check-options.ts';
import type { HandledEvent } from '../outbox/event.ts';
import type { Sealing } from '../outbox/sealing.ts';
import {
  type Handle,
  type HandlerDefinition,
  type HandlerOptions,
  ON_DEAD,
  type Projection,
  type RunRules,
} from '../relay/handler.ts';
import type { Lines } from '../relay/lines.ts';
import { createClassifier } from '../retry/classifier.ts';
import { checkPolicy } from '../retry/check-policy.ts';
import { eventHandler, HANDLER_DEFAULTS } from '../retry/policies.ts';
import { toPolicy } from '../retry/policy.ts';
import { breakerSettings, checkBreaker } from './breaker-settings.ts';

/** A handler under one name, for one or several kinds of message. */
interface Registration<Tx> {
  readonly of: 'on()' | 'project()' | 'projectAll()';
  readonly events: readonly HandledEvent<unknown>[];
  readonly name: string;
  readonly run:
    | { readonly kind: 'handle'; readonly run: Handle<unknown, Tx> }
    | { readonly kind: 'project'; readonly run: Projection<Tx> };
  readonly options: HandlerOptions;
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/i;
const FIELDS: readonly (keyof HandlerOptions)[] = [
  'policy',
  'policyOf',
  'classify',
  'terminalErrors',
  'concurrency',
  'lines',
  'timeoutMs',
  'maxOutageMs',
  'onDead',
  'repeatable',
  'breaker',
  'blameless',
];
const HANDLE_CONCURRENCY = 16;
// Each is a transaction on the user's pool, and one already runs a hundred messages at a time.
const PROJECT_CONCURRENCY = 2;
const TIMEOUT_MS = 5 * 60_000;
// An outage that begins in the evening is over, or known to somebody, before its messages are given up.
const MAX_OUTAGE_MS = 24 * 3_600_000;

/** The handlers of one service, by name. Wrong registrations are refused at once, all named. */
export class HandlerRegistry<Tx> {
  readonly #handlers = new Map<string, HandlerDefinition<Tx>>();
  readonly #sealing: Sealing | undefined;
  #isSealed = false;

  /** `sealing` opens the payloads of events that have none of their own. */
  constructor(sealing?: Sealing) {
    this.#sealing = sealing;
  }

  get all(): ReadonlyMap<string, HandlerDefinition<Tx>> {
    return this.#handlers;
  }

  add(registration: Registration<Tx>): void {
    const known = this.#handlers.get(registration.name);
    checkRegistration(registration, known, this.#isSealed, [...this.#handlers.values()]);
    const { events, run } = registration;
    const takes = new Map<string, unknown>(known?.takes);
    for (const event of events) takes.set(event.type, { event: this.#opened(event), run: run.run });
    const rules = known ?? handlerRules(registration);
    const isOwn = known !== undefined && Object.keys(registration.options).length > 0;
    const rulesByType = isOwn ? withRules(known, events, runRules(registration.options, run.kind)) : known?.rulesByType;
    this.#handlers.set(registration.name, { ...rules, rulesByType, kind: run.kind, takes } as HandlerDefinition<Tx>);
  }

  #opened(event: HandledEvent<unknown>): HandledEvent<unknown> {
    if (!this.#sealing || event.sealing) return event;
    // Also where its own messages are not sealed any more: those of before may be.
    return { ...event, sealing: this.#sealing };
  }

  /** Nothing can be added from now on: what runs would not learn of it. */
  seal(): void {
    this.#isSealed = true;
  }
}

/** The handlers of these names; all when none are given. Refuses names it does not know. */
export function selectHandlers<Tx>(
  handlers: ReadonlyMap<string, HandlerDefinition<Tx>>,
  names: readonly string[] | undefined,
): ReadonlyMap<string, HandlerDefinition<Tx>> {
  if (names === undefined) return handlers;
  const check = new OptionCheck('start()');
  const chosen = new Map<string, HandlerDefinition<Tx>>();
  for (const name of names) {
    const handler = handlers.get(name);
    if (handler) chosen.set(name, handler);
    else check.refuseName('handlers', name, `write names that are registered: ${[...handlers.keys()].join(', ')}`);
  }
  check.done();
  return chosen;
}

function handlerRules<Tx>({ name, run, options }: Registration<Tx>): Omit<HandlerDefinition<Tx>, 'kind' | 'takes'> {
  return {
    name,
    ...runRules(options, run.kind),
    concurrency: options.concurrency ?? (run.kind === 'project' ? PROJECT_CONCURRENCY : HANDLE_CONCURRENCY),
    lines: options.lines,
    repeatable: options.repeatable ?? false,
    blameless: options.blameless,
    breaker: run.kind === 'handle' && options.breaker !== false ? breakerSettings(name, options.breaker) : undefined,
  };
}

function runRules(options: HandlerOptions, kind: 'handle' | 'project'): RunRules {
  const { classify, terminalErrors, policyOf, onDead = 'block' } = options;
  const policy = toPolicy(options.policy ?? eventHandler, HANDLER_DEFAULTS);
  const limit = Number.isFinite(policy.timeoutMs) ? policy.timeoutMs : TIMEOUT_MS;
  const classifier = createClassifier({ unknown: 'retry', before: classify, terminalErrors });
  // Named policies count every failure, one attempt is no more than one, and all that project() calls is the database of the relay itself.
  const isNamed = options.policy !== undefined && policy.name !== undefined;
  const isCounting = isNamed || policy.maxAttempts === 1 || kind === 'project';
  const maxOutageMs = options.maxOutageMs ?? (isCounting ? 0 : MAX_OUTAGE_MS);
  return { policy, policyOf, classifier, timeoutMs: options.timeoutMs ?? limit, maxOutageMs, onDead };
}

/** The handler's rules of types, with these for the types of these events. */
function withRules<Tx>(
  { rulesByType }: HandlerDefinition<Tx>,
  events: readonly HandledEvent<unknown>[],
  rules: RunRules,
): ReadonlyMap<string, RunRules> {
  return new Map([...(rulesByType ?? []), ...events.map(({ type }) => [type, rules] as const)]);
}

function checkRegistration<Tx>(
  { of, events, name, run, options }: Registration<Tx>,
  known: HandlerDefinition<Tx> | undefined,
  isSealed: boolean,
  others: readonly HandlerDefinition<Tx>[],
): void {
  const check = new OptionCheck(of);
  if (isSealed) check.refuseName('name', name, 'register it before hf.start(): what runs already does not learn of it');
  if (events.length === 0) check.refuse('event', events, 'pass an event, or a list with at least one');
  for (const event of events) {
    if (typeof event?.type !== 'string') check.refuseName('event', event, "pass what event('order.placed') gives");
    else if (known?.takes.has(event.type)) {
      check.refuseName('name', name, `choose another name: it already handles ${JSON.stringify(event.type)}`);
    }
  }
  if (typeof name !== 'string' || !NAME.test(name)) {
    check.refuseName('name', name, "write letters, digits and . _ -, at most 100, for example 'email-receipt'");
  }
  const handler: unknown = run.kind === 'project' ? run.run.run : run.run;
  if (typeof handler !== 'function') check.refuse('handler', handler, 'pass a function of the payload');
  if (known && known.kind !== run.kind)
    check.refuseName('name', name, 'choose another name: one name is for on(), or for project() and projectAll()');
  if (check.object('options', options, 'pass an object, or leave it out')) {
    checkOptions(check, options, known);
    const { breaker, lines } = options;
    if (options.maxOutageMs !== undefined && run.kind === 'project')
      check.refuse(
        'maxOutageMs',
        options.maxOutageMs,
        'leave it out: what it calls is the database of the relay itself',
      );
    if (lines !== undefined && run.kind === 'project')
      check.refuse('lines', lines, 'leave it out: it has its messages many at once, one key in its order');
    if (breaker !== undefined && run.kind === 'project')
      check.refuse('breaker', breaker, 'leave it out: what it calls is the database of the relay itself');
    else if (breaker !== undefined)
      checkBreaker(
        check,
        name,
        breaker,
        others.map((other) => other.breaker),
      );
  }
  check.done();
}

function checkOptions<Tx>(check: OptionCheck, options: HandlerOptions, known: HandlerDefinition<Tx> | undefined): void {
  check.known(options, FIELDS);
  const { policy, policyOf, concurrency, lines, timeoutMs, maxOutageMs, onDead, repeatable, blameless } = options;
  for (const field of known ? (['concurrency', 'lines', 'repeatable', 'breaker', 'blameless'] as const) : []) {
    if (options[field] !== undefined)
      check.refuse(field, options[field], 'give it with the first event of the name: it is for all of them');
  }
  if (known && Object.keys(options).length > 0 && (known.onDead === 'park') !== (onDead === 'park'))
    check.refuse('onDead', onDead, "write 'park' for all events of a name, or for none");
  if (policy !== undefined) checkPolicy(check, 'policy', policy);
  if (policyOf !== undefined && typeof policyOf !== 'function')
    check.refuse('policyOf', policyOf, 'pass a function of the error that gives a policy, or nothing');
  if (lines !== undefined) checkLines(check, lines);
  if (concurrency !== undefined) {
    check.number('concurrency', concurrency, {
      min: 1,
      max: 10_000,
      integer: true,
      write: 'write a whole number from 1',
    });
  }
  if (timeoutMs !== undefined) {
    check.number('timeoutMs', timeoutMs, { min: 1, max: Infinity, write: 'write milliseconds from 1, or Infinity' });
  }
  if (maxOutageMs !== undefined) {
    check.number('maxOutageMs', maxOutageMs, {
      min: 0,
      max: 31 * 86_400_000,
      write: 'write milliseconds up to a month, 0 for none',
    });
  }
  if (onDead !== undefined && typeof onDead !== 'function') check.word('onDead', onDead, ON_DEAD);
  for (const [field, value] of Object.entries({ repeatable, blameless })) {
    if (value !== undefined && typeof value !== 'boolean') check.refuse(field, value, 'write true or false');
  }
}

function checkLines(check: OptionCheck, lines: Lines): void {
  if (!check.object('lines', lines, 'pass { width, retryHolds, onChange }')) return;
  for (const field of ['width', 'retryHolds', 'onChange'] as const) {
    if (typeof lines[field] !== 'function') check.refuse(`lines.${field}`, lines[field], 'pass a function');
  }
}
