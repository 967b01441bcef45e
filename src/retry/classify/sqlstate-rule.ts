import type { Rule } from './rule.ts';

const TRANSIENT: Rule = { kind: 'database', verdict: 'retry' };
const TIMEOUT: Rule = { kind: 'timeout', verdict: 'retry' };

const CODES: ReadonlyMap<string, Rule> = new Map([
  // Idle in transaction, transaction and statement timeouts.
  ['25P03', TIMEOUT],
  ['25P04', TIMEOUT],
  ['57014', TIMEOUT],
  // The whole transaction is run again, so a lost race is worth another attempt.
  ['40001', TRANSIENT],
  ['40P01', TRANSIENT],
  ['40002', { kind: 'database', verdict: 'fail' }],
  ['55P03', TRANSIENT],
]);

const CLASSES: ReadonlyMap<string, Rule> = new Map([
  // Connection exceptions and insufficient resources.
  ['08', TRANSIENT],
  ['53', TRANSIENT],
  // Integrity: the same row breaks the same rule again.
  ['23', { kind: 'database', verdict: 'fail' }],
  // A wrong password is mended by an operator, not by dead-lettering every message meanwhile: left to the classifier.
  ['28', { kind: 'auth' }],
]);

/** What a SQLSTATE means. Whatever is neither clearly passing nor clearly final (syntax, missing table) has no verdict. */
export function sqlstateRule(state: string): Rule {
  if (state.startsWith('57P0')) return TRANSIENT;
  return CODES.get(state) ?? CLASSES.get(state.slice(0, 2)) ?? { kind: 'database' };
}
