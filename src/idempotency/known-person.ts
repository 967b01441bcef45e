import { OptionCheck } from '../kernel/check-options.ts';

/** What JavaScript writes for an id that is not there. Taken as a name, everybody without one would share it. */
const NO_NAMES = new Set(['', 'null', 'undefined', 'NaN', '[object Object]']);

/**
 * The caller's identity as a route's resolver gave it; `undefined` when it names nobody. Throws `INVALID_OPTIONS` for what is no
 * text. `null` of a resolver is nobody and never everybody: only `person: 'anyone'` in the options of a route says that.
 */
export function knownPerson(of: string, answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return undefined;
  if (typeof answer === 'string') return NO_NAMES.has(answer) ? undefined : answer;
  const check = new OptionCheck(of);
  check.refuse(
    'what person answered',
    answer,
    "answer the caller's id as text, such as String(user.id), or '' for nobody",
  );
  check.done();
  return undefined;
}
