import { ERROR_MESSAGES, type ErrorCode, type ErrorDetails } from './error-codes.ts';

// A registered symbol, so that an error made by one copy of the package is known to another copy.
const BRAND = Symbol.for('holdfast.error');

/**
 * The one error class of this package. `code` says what went wrong and never changes its meaning; `details` holds the
 * facts of that code; the message ends with what to do next; `cause` is the original error, untouched.
 */
export class HoldfastError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'HoldfastError';
  readonly code: C;
  readonly details: ErrorDetails[C];

  constructor(code: C, details: ErrorDetails[C], options?: ErrorOptions) {
    super(ERROR_MESSAGES[code](details), options);
    Object.defineProperty(this, BRAND, { value: true });
    this.code = code;
    this.details = details;
  }
}

/** An error of this package, told apart by its `code`. */
export type AnyHoldfastError = { [C in ErrorCode]: HoldfastError<C> }[ErrorCode];

/** True for an error of this package with this code (or with any code), also when two copies of the package are loaded. */
export function isHoldfastError(value: unknown): value is AnyHoldfastError;
export function isHoldfastError<C extends ErrorCode>(value: unknown, code: C): value is HoldfastError<C>;
export function isHoldfastError(value: unknown, code?: ErrorCode): boolean {
  return (
    value instanceof Error && BRAND in value && (code === undefined || (value as { code?: unknown }).code === code)
  );
}
