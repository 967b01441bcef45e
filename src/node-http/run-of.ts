import type { RouteRun } from '../idempotency/http/http-run.ts';
import { HoldfastError } from '../kernel/error.ts';

// Beside the request, not on it: nothing a client sends can look like it.
const runs = new WeakMap<object, RouteRun<unknown, void>>();

/** Notes the run that a request belongs to. */
export function setRun<Tx>(request: object, run: RouteRun<Tx, void>): void {
  runs.set(request, run);
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
