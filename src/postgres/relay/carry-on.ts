import type { RelaySession } from '../../relay/relay-store.ts';
import type { Link } from '../driver/driver.ts';
import { type BulkStep, stepStatement } from '../operator/bulk-verbs.ts';

/** Carries on bulk operations, one step at a time. */
export function carryOnAct(link: Link, schema: string): NonNullable<RelaySession<never>['carryOn']> {
  const statement = stepStatement(schema);
  return async () => {
    const [row] = await link.query(statement, []);
    return (JSON.parse(String(row?.[0])) as BulkStep).againInMs ?? undefined;
  };
}
