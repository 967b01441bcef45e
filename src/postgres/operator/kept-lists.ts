import type { KeptLists } from '../../operator/kept-lists.ts';
import type { SqlRunner } from '../sql-runner.ts';

async function notBuilt(): Promise<never> {
  throw new Error('not built yet');
}

/** To be built. */
export function keptLists(_sql: SqlRunner, _schema: string): KeptLists {
  return {
    idempotencyRecords: notBuilt,
    commands: notBuilt,
    outgoingCalls: notBuilt,
  };
}
