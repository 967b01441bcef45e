import { HoldfastError } from '../kernel/error.ts';
import { codeOf } from './nats-library.ts';

/** JetStream's numbers for what it will refuse again as long as nobody changes the stream, or the message. */
const TOO_LARGE = 10_054;
const OF_A_PLACE: ReadonlySet<number> = new Set([
  10_060, // the subject belongs to another stream
  10_065, // its subjects overlap with those of another
  10_058, // there by that name, with another configuration
  10_052, // the configuration is none that this server takes
  10_077, // full: as many messages or bytes as it may have
  10_109, // sealed
  10_074, // more replicas than there are servers
  10_028, // as many streams as the account may have
  10_026, // as many consumers as the stream may have
]);

/**
 * What the broker refused, if it is a refusal; otherwise the error as it is. What is wrong with a message itself has a `RangeError` as
 * its cause.
 */
export function refusal(transport: string, place: string, error: unknown): unknown {
  const problem = error instanceof Error ? error.message : String(error);
  const refused = (cause: unknown): HoldfastError =>
    new HoldfastError('BROKER_REFUSED', { transport, place, problem }, { cause });
  const code = codeOf(error);
  if (code === TOO_LARGE || isRefusedArgument(error)) return refused(new RangeError(problem, { cause: error }));
  if ((code !== undefined && OF_A_PLACE.has(code)) || isForbidden(error)) return refused(error);
  return error;
}

/** The client itself refuses it: it is larger than the server takes, or a name has a character that names may not have. */
function isRefusedArgument(error: unknown): boolean {
  return error instanceof Error && (error.name === 'InvalidArgumentError' || error.name === 'InvalidNameError');
}

/** The server says so of the subject: the user has no right to it. */
function isForbidden(error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { readonly name?: string; readonly cause?: unknown };
  return name === 'PermissionViolationError' || (cause !== undefined && isForbidden(cause));
}

/** True where nobody listens for a subject: the stream is gone, or JetStream is not there yet. */
export function isUnheard(error: unknown): boolean {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}
