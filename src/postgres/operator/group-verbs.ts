import type { ErrorGroups } from '../../operator/error-group.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function groupVerbs(_sql: SqlRunner, _schema: string): ErrorGroups {
  return {
    groups: notBuilt,
    group: notBuilt,
    resolveGroup: notBuilt,
    ignoreGroup: notBuilt,
    reopenGroup: notBuilt,
  };
}
