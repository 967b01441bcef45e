import { type Rule, rules } from './rule.ts';

/**
 * Error codes of the Redis protocol. A reply error has no field for it: the protocol puts the code in front of the text
 * ("READONLY You can't write against a read only replica."), so the first word of a *server reply* is read as its code.
 */
export const REDIS_CODES: ReadonlyMap<string, Rule> = new Map([
  ...rules('database', 'retry', [
    'ASK',
    'BUSY',
    'CLUSTERDOWN',
    'LOADING',
    'MASTERDOWN',
    'MISCONF',
    'MOVED',
    'NOREPLICAS',
    'OOM',
    'READONLY',
    'TRYAGAIN',
    'UNBLOCKED',
  ]),
  ...rules('invalid', 'fail', ['CROSSSLOT', 'WRONGTYPE']),
  ...rules('conflict', 'fail', ['BUSYGROUP']),
  ...rules('auth', undefined, ['NOAUTH', 'NOPERM', 'WRONGPASS']),
]);

/** The code in front of a reply's text, if there is one. */
export function redisCode(message: string): string | undefined {
  return /^([A-Z][A-Z0-9]+)(?: |$)/.exec(message)?.[1];
}
