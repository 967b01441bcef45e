import type { Overview, OverviewRange } from '../../operator/overview.ts';
import type { SqlRunner } from '../sql-runner.ts';

/** To be built. */
export async function readOverview(_sql: SqlRunner, _schema: string, _range: OverviewRange): Promise<Overview> {
  throw new Error('not built yet');
}
