import type { Operator } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function keyVerbs(_sql: SqlRunner, _schema: string): Pick<Operator, 'releaseKey' | 'skipKey'> {
  return {
    releaseKey: notBuilt,
    skipKey: notBuilt,
  };
}
