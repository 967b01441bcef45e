import type { SystemRecord } from '../../operator/system-record.ts';
import type { SqlRunner } from '../sql-runner.ts';

/** To be built. */
export async function readSystem(_sql: SqlRunner, _schema: string): Promise<SystemRecord> {
  throw new Error('not built yet');
}
