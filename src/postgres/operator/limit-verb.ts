import type { Operator } from '../../operator/operator.ts';
import type { SqlRunner } from '../sql-runner.ts';

/** To be built. */
export function limitVerb(_sql: SqlRunner, _schema: string): Pick<Operator, 'limit'> {
  return {
    limit: async () => {
      throw new Error('not built yet');
    },
  };
}
