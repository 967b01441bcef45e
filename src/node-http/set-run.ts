import type { HttpRun } from '../idempotency/http/http-run.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { Framework } from './framework.ts';
import { GuardedResponse } from './guarded-response.ts';
import type { NodeResponse } from './node-response.ts';
import { noteRun } from './run-of.ts';
import { unguardedResponse } from './unguarded-response.ts';

type Admitted<Tx> = { readonly kind: 'pass' } | { readonly kind: 'run'; readonly run: HttpRun<Tx> };

/** Gives a request that was let in its run, and guards the response where its key was claimed. */
export function setRun<Tx>(
  request: object,
  res: NodeResponse,
  entry: Admitted<Tx>,
  idempotency: Idempotency<Tx>,
  framework?: Framework,
): void {
  const isReal = entry.kind === 'run';
  const run = isReal
    ? new GuardedResponse(res, entry.run, entry.run.header, framework).routeRun()
    : unguardedResponse(res, idempotency, framework);
  noteRun(request, run, isReal);
}
