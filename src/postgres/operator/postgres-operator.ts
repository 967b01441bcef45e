import { OptionCheck } from '../../kernel/check-options.ts';
import { type DeliveryId, isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { BadId } from '../../operator/operator-outcomes.ts';
import type { Operator } from '../../operator/operator.ts';
import { checkSealing, type Sealing } from '../../outbox/sealing.ts';
import { checkVersion } from '../check-version.ts';
import { repeatedRunner } from '../repeated-runner.ts';
import { quotedSchema } from '../schema-name.ts';
import { boundedRunner } from '../bounded-runner.ts';
import { ANSWER_TIMEOUT_RULE } from '../driver/time-limit.ts';
import { type SqlConnection, sqlRunner, type SqlRunner } from '../sql-runner.ts';
import { verifyAudit } from './audit-chain.ts';
import { breakerVerbs } from './breaker-verbs.ts';
import { bulkVerbs } from './bulk-verbs.ts';
import { listAudit } from './audit-list.ts';
import { listDeadLetters } from './dead-letter-list.ts';
import { eraseVerbs } from './erase-verbs.ts';
import { groupVerbs } from './group-verbs.ts';
import { readStats } from './handler-stats.ts';
import { handlerVerbs } from './handler-verbs.ts';
import { listHeldKeys } from './held-keys.ts';
import { keptLists } from './kept-lists.ts';
import { keyVerbs } from './key-verbs.ts';
import { limitVerb } from './limit-verb.ts';
import { messageList } from './message-list.ts';
import { findMessage, forecastMessage, showMessage } from './message-reads.ts';
import { messageVerbs } from './message-verbs.ts';
import { showOpened } from './opened-payloads.ts';
import { readOverview } from './overview.ts';
import { readSystem } from './system.ts';
import { traceId } from './trace-reads.ts';
import { whyMessage } from './why-facts.ts';

/** What `postgresOperator` takes. */
export interface PostgresOperatorOptions {
  /** A pool; or a connection, a database object of a known client, or a transaction that changes are to be part of. */
  readonly pool: SqlConnection;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How long the database may take for one answer, in milliseconds, before that is `DATABASE_TIMEOUT`. Default 60,000. */
  readonly answerTimeoutMs?: number | undefined;
  /** Of the package, for `system`: whoever reads the package's own file knows it. Default `unknown`. */
  readonly version?: string | undefined;
  /** Opens sealed payloads to whoever asks this operator, and seals what is edited. Default: they are shown sealed. */
  readonly sealing?: Sealing | undefined;
}

const ANSWER_TIMEOUT_MS = 60_000;

/**
 * The operator's functions on PostgreSQL. Every change is one statement, so a pool will do; nothing is kept open. The first call
 * also looks whether the schema fits, and throws `SCHEMA_TOO_OLD` or `SCHEMA_TOO_NEW` as long as it does not.
 */
export function postgresOperator(options: PostgresOperatorOptions): Operator {
  const check = new OptionCheck('postgresOperator()');
  if (check.object('options', options, 'pass { pool }')) {
    const { answerTimeoutMs } = options;
    check.known(options, ['pool', 'schema', 'answerTimeoutMs', 'version', 'sealing']);
    if (options.sealing !== undefined) checkSealing(check, 'sealing', options.sealing);
    if (answerTimeoutMs !== undefined) check.number('answerTimeoutMs', answerTimeoutMs, ANSWER_TIMEOUT_RULE);
  }
  check.done();
  const schema = quotedSchema('postgresOperator()', options.schema);
  const sql = versionChecked(
    boundedRunner(repeatedRunner(sqlRunner(options.pool)), options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS),
    schema,
  );
  const { sealing } = options;
  const show: Operator['show'] = (id) => withId(id, (parsed) => showMessage(sql, schema, parsed));
  return {
    ...messageVerbs(sql, schema, sealing),
    ...handlerVerbs(sql, schema),
    ...keyVerbs(sql, schema),
    ...limitVerb(sql, schema),
    ...bulkVerbs(sql, schema),
    ...breakerVerbs(sql, schema),
    ...eraseVerbs(sql, schema),
    ...groupVerbs(sql, schema),
    ...keptLists(sql, schema),
    ...messageList(sql, schema),
    overview: ({ range = 'hour' } = {}) => readOverview(sql, schema, range),
    system: () => readSystem(sql, schema, options.version ?? 'unknown'),
    deadLetters: (filter = {}) => listDeadLetters(sql, schema, filter),
    find: (id) => withId(id, (parsed) => findMessage(sql, schema, parsed)),
    show: sealing ? showOpened(show, sealing) : show,
    why: (id) => withId(id, (parsed) => whyMessage(sql, schema, parsed)),
    forecast: (id, policyOf) => withId(id, (parsed) => forecastMessage(sql, schema, parsed, policyOf)),
    trace: (id, traceOptions = {}) => traceId(sql, schema, id, traceOptions),
    stats: ({ countDelivered = false } = {}) => readStats(sql, schema, countDelivered),
    heldKeys: (filter = {}) => listHeldKeys(sql, schema, filter),
    audit: (filter = {}) => listAudit(sql, schema, filter),
    verifyAudit: (anchor) => verifyAudit(sql, schema, anchor),
  };
}

/** The same, once the schema is known to fit: that is asked before the first statement, and again only while it does not. */
function versionChecked(sql: SqlRunner, schema: string): SqlRunner {
  let checked: Promise<void> | undefined;
  const check = async (): Promise<void> => {
    try {
      await checkVersion(schema, async (statement) => (await sql.query(statement))[0]?.['version']);
    } catch (error) {
      checked = undefined;
      throw error;
    }
  };
  return {
    ...sql,
    query: async (text, params) => {
      await (checked ??= check());
      return sql.query(text, params);
    },
  };
}

async function withId<T>(id: string, read: (parsed: DeliveryId) => Promise<T>): Promise<T | BadId> {
  const parsed = parseDeliveryId(id);
  return isBadId(parsed) ? parsed : read(parsed);
}
