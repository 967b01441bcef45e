import { OptionCheck } from '../kernel/check-options.ts';
import { systemEffects } from '../system/effects.ts';
import { type ChainRules, type Facts, readChain } from './classify/error-chain.ts';
import { isLikelyBug } from './classify/programming-error.ts';
import { lookAt } from './classify/thrown.ts';
import { type Classifier, type Classify, type Failure, isClassifyAnswer } from './failure.ts';

type Verdict = Failure['verdict'];

/** What `createClassifier` takes. */
export interface ClassifierOptions {
  /** The answer for errors that no rule knows, and for those whose rule leaves it open. */
  readonly unknown: Verdict;
  /** Verdicts by HTTP status, before the built-in table: `{ 409: 'retry' }`. */
  readonly statuses?: Readonly<Record<number, Verdict>> | undefined;
  /** Verdicts by code (`ECONNRESET`, `23505`, `UNAVAILABLE`, `overloaded_error`, …), before statuses and tables. */
  readonly codes?: Readonly<Record<string, Verdict>> | undefined;
  /** Error classes that are final, like `TerminalHandlerError`, also as a cause. */
  readonly terminalErrors?: readonly (abstract new (...args: never[]) => unknown)[] | undefined;
  /**
   * Asked first, except about final errors. `undefined` leaves the answer to the rules; anything else that is no verdict
   * and no failure, a promise too, is refused with `INVALID_OPTIONS`. What it throws is not caught.
   */
  readonly before?: Classify | undefined;
  /** Epoch milliseconds, for hints that are dates. Default: the system clock. */
  readonly now?: (() => number) | undefined;
}

const FIELDS: readonly (keyof ClassifierOptions)[] = [
  'unknown',
  'statuses',
  'codes',
  'terminalErrors',
  'before',
  'now',
];
const VERDICT = "write 'retry' or 'fail'";

/**
 * Makes a classifier that always has an answer. In this order: a final error fails; `before`; the server's own "no" fails
 * with the reason `server-said-no`; `codes`; `statuses`; the built-in tables, the outermost error that decides first; the
 * server's own or the client's "yes"; `unknown`. So no server can turn a 400, 401, 403 or 404 into a retry.
 * Wrong options are refused at once, all named.
 */
export function createClassifier(options: ClassifierOptions): Classifier {
  checkOptions(options);
  const { unknown, before } = options;
  const rules = chainRules(options);
  return (error) => {
    const facts = readChain(error, rules);
    if (facts.kind === 'terminal') return failureOf(facts, 'fail');
    const answer: unknown = before?.(error);
    checkAnswer(answer);
    if (typeof answer === 'object') return answer;
    if (answer !== undefined) return failureOf(facts, answer);
    if (facts.hint?.retry === false) return { ...failureOf(facts, 'fail'), reason: 'server-said-no' };
    return failureOf(facts, verdictOf(facts, unknown));
  };
}

/** For a call to another service: an error that no rule knows fails. */
export const serviceCallClassifier: Classifier = createClassifier({ unknown: 'fail' });

/** For an event handler: an error that no rule knows is tried again; integrity errors and invalid payloads are final. */
export const eventHandlerClassifier: Classifier = createClassifier({ unknown: 'retry' });

const streamRules = createClassifier({ unknown: 'retry', statuses: { 529: 'retry' } });

/**
 * For a model provider's stream before its first content: an error that no rule knows is tried again, and so is a 529. A
 * `TypeError` or `RangeError` without code and cause is a bug in the code that makes the request, and fails, unless its message is
 * that of a failed `fetch` in Chromium, Firefox or Safari.
 */
export const streamClassifier: Classifier = (error) => {
  const failure = streamRules(error);
  const thrown = lookAt(error);
  const isBug = failure.kind === 'unknown' && failure.hint === undefined && isLikelyBug(thrown);
  return isBug ? { verdict: 'fail', kind: 'invalid', code: thrown.name } : failure;
};

function verdictOf(facts: Facts, unknown: Verdict): Verdict {
  return facts.verdict ?? (facts.hint?.retry || facts.likelyTransient ? 'retry' : unknown);
}

function failureOf(facts: Facts, verdict: Verdict): Failure {
  const { status, code, hint, nestedAttempts } = facts;
  return {
    verdict,
    kind: facts.kind,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(hint === undefined ? {} : { hint }),
    ...(nestedAttempts === undefined ? {} : { nestedAttempts }),
  };
}

function chainRules(options: ClassifierOptions): ChainRules {
  const codes = new Map(Object.entries(options.codes ?? {}));
  const statuses = new Map(Object.entries(options.statuses ?? {}));
  const terminalErrors = [...(options.terminalErrors ?? [])];
  return {
    override: ({ code, status }) => codes.get(code ?? '') ?? statuses.get(String(status)),
    isTerminal: (error) => terminalErrors.some((type) => error instanceof type),
    nowWallMs: options.now ?? (() => systemEffects.now().wallMs),
  };
}

function checkOptions(options: ClassifierOptions): void {
  const check = new OptionCheck('createClassifier()');
  if (!check.object('options', options, "pass { unknown: 'fail' } or { unknown: 'retry' }")) return check.done();
  check.known(options, FIELDS);
  if (!isVerdict(options.unknown)) check.refuse('unknown', options.unknown, VERDICT);
  for (const table of ['statuses', 'codes'] as const) {
    for (const [key, verdict] of Object.entries(options[table] ?? {})) {
      if (!isVerdict(verdict)) check.refuse(`${table}.${key}`, verdict, VERDICT);
      if (table === 'statuses' && !/^[1-5]\d\d$/.test(key))
        check.refuse(`statuses.${key}`, key, 'write an HTTP status, 100 to 599');
    }
  }
  const types = options.terminalErrors;
  if (types !== undefined && !(Array.isArray(types) && types.every((type) => typeof type === 'function'))) {
    check.refuse('terminalErrors', types, 'write a list of error classes');
  }
  for (const name of ['before', 'now'] as const) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'function')
      check.refuse(name, value, 'write a function, or leave it out');
  }
  check.done();
}

function checkAnswer(answer: unknown): asserts answer is ReturnType<Classify> {
  if (isClassifyAnswer(answer)) return;
  const check = new OptionCheck('createClassifier()');
  check.refuse('before(error)', answer, "answer 'retry', 'fail', a whole failure or undefined, and not by a promise");
  check.done();
}

function isVerdict(value: unknown): value is Verdict {
  return value === 'retry' || value === 'fail';
}
