import { HoldfastError } from '../kernel/error.ts';
import type { ResponseRun } from './framework.ts';

// A symbol of our own: nothing a client sends can look like it. A weak map would keep every request until old memory is looked through.
const RUN = Symbol('run');

interface Noted {
  readonly run: ResponseRun<unknown>;
  readonly isReal: boolean;
}

/** Notes the run that a request belongs to, and whether it is guarded. */
export function noteRun<Tx>(request: object, run: ResponseRun<Tx>, isReal: boolean): void {
  const noted: Noted = { run, isReal };
  Object.defineProperty(request, RUN, { value: noted, configurable: true });
}

/** True when a guard before this one has let the request in: another would wait for it, and it for that. */
export function isGuarded(request: object): boolean {
  return notedOf(request)?.isReal === true;
}

function notedOf(request: object): Noted | undefined {
  return (request as { readonly [RUN]?: Noted })[RUN];
}

/**
 * The run of a request whose route is guarded. Inside `commit` the reply is held back: what `work` writes with `tx`, what it sends
 * through the outbox, and the reply it ends are committed together, and the reply is sent after that. Throws `IDEMPOTENCY_NO_RUN`
 * where the route is not guarded.
 */
export function runOf<Tx = unknown>(request: object): ResponseRun<Tx> {
  const run = notedOf(request)?.run;
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run as ResponseRun<Tx>;
}
