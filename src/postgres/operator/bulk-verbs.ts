import type { BulkOperations } from '../../operator/bulk.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function bulkVerbs(_sql: SqlRunner, _schema: string): BulkOperations {
  return {
    planBulk: notBuilt,
    startBulk: notBuilt,
    pauseBulk: notBuilt,
    resumeBulk: notBuilt,
    cancelBulk: notBuilt,
    bulk: notBuilt,
    bulks: notBuilt,
    bulkItems: notBuilt,
    stepBulks: notBuilt,
  };
}
