// Registered, so that an error made by one copy of the package is final to another.
const BRAND = Symbol.for('holdfast.terminal');

/**
 * Thrown to say "no further attempt, whatever the policy": final for every classifier, also deep inside a `cause`.
 * Throw it, or extend it for errors of your own; put what went wrong into `cause`.
 */
export class TerminalHandlerError extends Error {
  override name = 'TerminalHandlerError';
}

// On the prototype and not a field: subclasses inherit it, and it shows in no log and no JSON.
Object.defineProperty(TerminalHandlerError.prototype, BRAND, { value: true });

/** True for a `TerminalHandlerError` and its subclasses, also when two copies of the package are loaded. */
export function isTerminalHandlerError(value: unknown): boolean {
  return typeof value === 'object' && value !== null && BRAND in value;
}
