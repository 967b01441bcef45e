import { HoldfastError } from '../kernel/error.ts';

/** What Redis says of one key, and would say again: it is no stream, or this user may not use it. */
const OF_A_KEY = /\b(?:WRONGTYPE|NOPERM)\b/;

/** Why a stream cannot be used; nothing: the error is about something else. */
export function streamRefusal(transport: string, stream: string, error: unknown): HoldfastError | undefined {
  const problem = error instanceof Error ? error.message : String(error);
  if (!OF_A_KEY.test(problem)) return undefined;
  return new HoldfastError('BROKER_REFUSED', { transport, place: `stream "${stream}"`, problem }, { cause: error });
}
