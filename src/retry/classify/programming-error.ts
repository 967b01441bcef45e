import type { Reading } from './rule.ts';
import type { Thrown } from './thrown.ts';

/** Nothing but code that cannot run, or text that cannot be read, throws these. */
const ALWAYS_BUGS: ReadonlySet<string> = new Set(['ReferenceError', 'SyntaxError']);

/** Bugs too, but also what a handler may throw at bad input, or a browser for a lost connection (`failed-fetch.ts`). */
const LIKELY_BUGS: ReadonlySet<string> = new Set([...ALWAYS_BUGS, 'RangeError', 'TypeError']);

/** An error of the language itself that is a bug wherever it comes from: the next attempt would meet it again. */
export function readBug(thrown: Thrown): Reading | undefined {
  return isBare(thrown, ALWAYS_BUGS) ? { kind: 'invalid', verdict: 'fail', code: thrown.name } : undefined;
}

/** True for an error of the language itself that no rule knows as anything else. */
export function isLikelyBug(thrown: Thrown): boolean {
  return isBare(thrown, LIKELY_BUGS);
}

/** Without a code and without a cause: clients that report something else by such a class give one or the other. */
export function isBare({ error, name, textCode }: Thrown, names: ReadonlySet<string>): boolean {
  return names.has(name) && textCode === '' && !hasCause(error);
}

/** Also a cause that is `undefined`: `fetch` has one in its "terminated". */
function hasCause(error: unknown): boolean {
  try {
    return Object.hasOwn(error as object, 'cause');
  } catch {
    return true;
  }
}
