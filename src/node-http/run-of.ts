import type { RouteRun } from '../idempotency/http/http-run.ts';
import { HoldfastError } from '../kernel/error.ts';

// Beside the request, not on it: nothing a client sends can look like it.
const runs = new WeakMap<object, RouteRun<unknown, void>>();

const guarded = new WeakSet<object>();

/** Notes the run that a request belongs to, and whether it is guarded. */
export function setRun<Tx>(request: object, run: RouteRun<Tx, void>, isReal: boolean): void {
  runs.set(request, run);
  if (isReal) guarded.add(request);
}

/** True when a guard before this one has let the request in: another would wait for it, and it for that. */
export function isGuarded(request: object): boolean {
  return guarded.has(request);
}

/**
 * The run of a request whose route is guarded. Inside `commit` the reply is held back: what `work` writes with `tx`, what it sends
 * through the outbox, and the reply it ends are committed together, and the reply is sent after that. Throws `IDEMPOTENCY_NO_RUN`
 * where the route is not guarded.
 */
export function runOf<Tx = unknown>(request: object): RouteRun<Tx, void> {
  const run = runs.get(request);
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run as RouteRun<Tx, void>;
}
