import { OptionCheck } from '../../kernel/check-options.ts';
import { type DeliveryId, isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { BadId } from '../../operator/operator-outcomes.ts';
import type { Operator } from '../../operator/operator.ts';
import { quotedSchema } from '../schema-name.ts';
import { type SqlConnection, sqlRunner } from '../sql-runner.ts';
import { listAudit } from './audit-list.ts';
import { listDeadLetters } from './dead-letter-list.ts';
import { readStats } from './handler-stats.ts';
import { handlerVerbs } from './handler-verbs.ts';
import { listHeldKeys } from './held-keys.ts';
import { findMessage, forecastMessage, showMessage } from './message-reads.ts';
import { messageVerbs } from './message-verbs.ts';
import { whyMessage } from './why-facts.ts';

/** What `postgresOperator` takes. */
export interface PostgresOperatorOptions {
  /** A pool; or a connection, a database object of a known client, or a transaction that changes are to be part of. */
  readonly pool: SqlConnection;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
}

/** The operator's functions on PostgreSQL. Every change is one statement, so a pool will do; nothing is kept open. */
export function postgresOperator(options: PostgresOperatorOptions): Operator {
  const check = new OptionCheck('postgresOperator()');
  if (check.object('options', options, 'pass { pool }')) check.known(options, ['pool', 'schema']);
  check.done();
  const schema = quotedSchema('postgresOperator()', options.schema);
  const sql = sqlRunner(options.pool);
  return {
    ...messageVerbs(sql, schema),
    ...handlerVerbs(sql, schema),
    deadLetters: (filter = {}) => listDeadLetters(sql, schema, filter),
    find: (id) => withId(id, (parsed) => findMessage(sql, schema, parsed)),
    show: (id) => withId(id, (parsed) => showMessage(sql, schema, parsed)),
    why: (id) => withId(id, (parsed) => whyMessage(sql, schema, parsed)),
    forecast: (id, policyOf) => withId(id, (parsed) => forecastMessage(sql, schema, parsed, policyOf)),
    stats: ({ countDelivered = true } = {}) => readStats(sql, schema, countDelivered),
    heldKeys: (filter = {}) => listHeldKeys(sql, schema, filter),
    audit: (filter = {}) => listAudit(sql, schema, filter),
  };
}

async function withId<T>(id: string, read: (parsed: DeliveryId) => Promise<T>): Promise<T | BadId> {
  const parsed = parseDeliveryId(id);
  return isBadId(parsed) ? parsed : read(parsed);
}
