import { isHoldfastError } from '../kernel/error.ts';
import type { OptionProblem } from '../kernel/check-options.ts';

/** What went wrong, for people and programs: RFC 9457, with a code and the next step. */
export interface Problem {
  readonly status: number;
  /** Never changes its meaning. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** What to do next. */
  readonly next: string;
  /** Further fields: those of the outcome, `problems` of wrong fields. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As it is sent. */
export function problemResponse({ status, code, title, detail, next, more, headers }: Problem): Response {
  const type = `urn:holdfast:problem:${code.toLowerCase().replaceAll('_', '-')}`;
  return new Response(JSON.stringify({ ...more, type, title, status, detail, code, next }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}

/** Fields of the request that are not what they should be. */
export function wrongFields(of: string, problems: readonly OptionProblem[]): Problem {
  return {
    status: 400,
    code: 'INVALID_OPTIONS',
    title: 'The request is not as it should be',
    detail: problems.map(({ option, found, write }) => `${option} is ${found}; ${write}`).join(' · '),
    next: 'Correct what is named, and send it again.',
    more: { of, problems },
  };
}

/** Refusals of the operator, wherever they come up, and the status they have. */
const REFUSED: Readonly<Record<string, readonly [status: number, title: string, next: string]>> = {
  'not-found': [404, 'There is no such thing', 'See the id; what is finished is forgotten after a while.'],
  invalid: [400, 'What was given cannot be', 'Correct what is named, and send it again.'],
  'bad-id': [400, 'That is no id', 'Copy the whole id from a list.'],
  'not-failed': [409, 'Nothing of it has failed', 'See where its deliveries stand with …/why.'],
  'unknown-handler': [409, 'There is no such handler', 'Write one of those that are known.'],
  'ambiguous-handler': [409, 'Two services have such a handler', 'Write service/name.'],
  'already-delivered': [409, 'These handlers have succeeded', 'Choose those that failed, or rerun repeatable ones.'],
  'not-repeatable': [409, 'These handlers must not run twice', 'Declare them repeatable in code if they may.'],
  'not-scheduled': [409, 'Its time has come, or it never had one', 'Discard what is open of it instead.'],
  'has-workers': [409, 'Workers still serve it', 'Deploy without the handler first.'],
  'has-open': [409, 'It still has messages', 'Deal with them, or pass discardOpen to give them up.'],
  'nothing-failed': [409, 'Nothing of the key has failed', 'See what holds the key in the list of keys.'],
  refused: [409, 'Its state does not allow that', 'See its state, then choose what it allows.'],
  'unknown-breaker': [409, 'There is no such breaker', 'Write one of those that are known.'],
  'ambiguous-breaker': [409, 'Two services have such a breaker', 'Write service/name.'],
  // Of an edit alone: elsewhere it is the outcome that was wanted.
  changed: [409, 'Somebody else has changed it', 'Read it again, and decide anew.'],
};

/** True for a kind of outcome that is a refusal unless a route says otherwise. */
export function isRefusal(kind: string): boolean {
  return kind !== 'changed' && Object.hasOwn(REFUSED, kind);
}

/** The status of a refusal. */
export function refusalStatus(kind: string): number {
  return REFUSED[kind]?.[0] ?? 409;
}

/** A refusal of the operator, with its own fields. */
export function refusedOutcome(outcome: Readonly<Record<string, unknown>> & { readonly kind: string }): Problem {
  const [status, title, next] = REFUSED[outcome.kind] ?? [409, 'It was refused', 'Read it again, and decide anew.'];
  const { problem, known, write } = outcome;
  const detail =
    typeof problem === 'string'
      ? problem
      : Array.isArray(known)
        ? `known are ${known.join(', ') || 'none'}`
        : Array.isArray(write)
          ? `write ${write.join(' or ')}`
          : `${title}.`;
  return {
    status,
    code: outcome.kind.toUpperCase().replaceAll('-', '_'),
    title,
    detail,
    next,
    more: { ...outcome, outcome },
  };
}

/** An error of the operator. What is not known to be harmless is not told: it may hold a payload or an address. */
export function thrownProblem(error: unknown): Problem {
  if (isHoldfastError(error, 'INVALID_OPTIONS')) return wrongFields(error.details.of, error.details.problems);
  if (isHoldfastError(error, 'PAYLOAD_INVALID') || isHoldfastError(error, 'PAYLOAD_TOO_LARGE')) {
    const { code, message, details } = error;
    const title = 'The payload cannot be stored';
    return { status: 400, code, title, detail: message, next: 'Change the payload.', more: { details } };
  }
  if (isHoldfastError(error, 'SCHEMA_TOO_OLD') || isHoldfastError(error, 'SCHEMA_TOO_NEW')) {
    const { code, message, details } = error;
    const title = 'The schema of the database does not fit';
    return { status: 503, code, title, detail: message, next: 'Run holdfast migrate.', more: { details } };
  }
  if (isHoldfastError(error, 'NOT_ON_MONGODB')) {
    const { code, message, details } = error;
    const next = 'See docs/mongodb.md for what works there.';
    return { status: 501, code, title: 'That needs PostgreSQL', detail: message, next, more: { details } };
  }
  if (isHoldfastError(error, 'SECRET_MISSING') || isHoldfastError(error, 'SECRET_WRONG')) {
    const { code, message } = error;
    const next = 'Start the server with the HOLDFAST_SECRET that sealed it.';
    return { status: 503, code, title: 'The server cannot open its secrets', detail: message, next };
  }
  if (isHoldfastError(error, 'FIELD_REDACTED')) {
    const { code, message, details } = error;
    const next = 'Search for something else, or ask somebody who may see it.';
    return { status: 403, code, title: 'That is hidden from you', detail: message, next, more: { details } };
  }
  if (isHoldfastError(error, 'DATABASE_TIMEOUT')) {
    const { code, message, details } = error;
    const next = 'Look at the database, then try again.';
    return { status: 503, code, title: 'The database does not answer', detail: message, next, more: { details } };
  }
  if (isUnfitValue(error)) {
    const write = 'write a time, a number or a cursor that can be: the cursor is the `next` of a page before';
    return wrongFields('the request', [{ option: 'a value', found: 'out of range', write }]);
  }
  return {
    status: 500,
    code: 'SERVER_FAILED',
    title: 'That did not work',
    detail: 'The database, or the way to it, failed; the log of the server says more.',
    next: 'Try again in a moment; look at readyz and the log of the server if that stays so.',
  };
}

/** SQLSTATE class 22, data exceptions: what was asked for holds a value that the database cannot read. Its text may quote it. */
function isUnfitValue(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return error instanceof Error && typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code);
}
