import type { Breakers } from '../../operator/breaker-record.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function breakerVerbs(_sql: SqlRunner, _schema: string): Breakers {
  return {
    breakers: notBuilt,
    openBreaker: notBuilt,
    closeBreaker: notBuilt,
  };
}
