import { brokers } from './broker-checks.ts';
import type { CheckFinding, DatabaseCheck, Examination } from './finding.ts';
import { autovacuum, privileges, rowSecurity, schemaVersion } from './schema-checks.ts';
import { connections, durability, idleInTransaction, serverVersion, writable } from './server-checks.ts';
import { work } from './work-checks.ts';

type Checks = Readonly<Record<string, DatabaseCheck>>;

/** What is looked at in any case. */
export const OF_SERVER: Checks = {
  'server version': serverVersion,
  writable,
  durability,
  connections,
  'idle in transaction': idleInTransaction,
};
export const SCHEMA_VERSION: Checks = { 'schema version': schemaVersion };
/** What needs our tables. */
export const OF_TABLES: Checks = { 'row security': rowSecurity, privileges, autovacuum };
/** What needs them as this release knows them. */
export const OF_RELEASE: Checks = { handlers: work, brokers };

/** All that the database can tell of itself, in the order in which the doctor tells it. The schema is known to fit. */
export async function examineDatabase(examination: Examination): Promise<readonly CheckFinding[]> {
  const findings: CheckFinding[] = [];
  const checks = { ...OF_SERVER, ...SCHEMA_VERSION, ...OF_TABLES, ...OF_RELEASE };
  for (const [name, check] of Object.entries(checks)) {
    const found = await check(examination).catch((error: unknown): CheckFinding => {
      const problem = error instanceof Error ? error.message : String(error);
      return { check: name, status: 'problem', found: `cannot be looked at: ${problem}`, next: 'holdfast doctor' };
    });
    findings.push(...[found].flat());
  }
  return findings;
}
