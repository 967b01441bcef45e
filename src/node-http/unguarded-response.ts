import { HttpRun } from '../idempotency/http/http-run.ts';
import { unguardedRun } from '../idempotency/http/unguarded-run.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { RunView } from '../idempotency/run-view.ts';
import type { Framework, ResponseRun } from './framework.ts';
import { GuardedResponse } from './guarded-response.ts';
import type { NodeResponse } from './node-response.ts';

/**
 * The run of a request that is not guarded. Inside `commit` its reply is held back as a guarded one's: it is sent when the transaction
 * is through, and not at all if that fails. Nothing is kept. A handler that does not commit has its response as it is.
 */
export function unguardedResponse<Tx>(
  res: NodeResponse,
  idempotency: Idempotency<Tx>,
  framework?: Framework,
): ResponseRun<Tx> {
  const facts = unguardedRun<Tx, void>(idempotency);
  let held: ResponseRun<Tx> | undefined;
  const hold = (): ResponseRun<Tx> => {
    const run = {
      number: facts.number,
      signal: facts.signal,
      childKey: (step: string) => facts.childKey(step),
      end: async () => 'ended' as const,
      commit: async <T>(work: (tx: Tx) => Promise<{ readonly value: T }>): Promise<T> =>
        idempotency.transaction(async (tx) => (await work(tx)).value),
    };
    return new GuardedResponse(res, new HttpRun(run, {}, noWinner), undefined, framework).routeRun();
  };
  const commit: ResponseRun<Tx>['commit'] = async (work) => (held ??= hold()).commit(work);
  return new RunView(facts, commit);
}

/** Nobody takes over a run that nobody else knows of. */
async function noWinner(): Promise<never> {
  throw new TypeError('unreachable: a run that is not guarded was late');
}
