import type { Db } from 'mongodb';
import { OptionCheck } from '../../kernel/check-options.ts';
import type { OnMongodb } from '../../operator/operator-store.ts';
import type { Operator } from '../../operator/operator.ts';
import { systemEffects } from '../../system/effects.ts';
import { answered } from '../answered.ts';
import { checkCollection, checkDb } from '../collections.ts';
import type { MongoDatabase } from '../mongo-database.ts';
import { listAudit } from './audit-log.ts';
import { listDeadLetters } from './dead-letter-list.ts';
import { groupReads } from './groups.ts';
import { listHeldKeys } from './held-keys.ts';
import { listRecords } from './idempotency-list.ts';
import { listMessages } from './message-list.ts';
import { messageReads } from './message-reads.ts';
import { messageVerbs } from './message-verbs.ts';
import { refusedVerbs } from './not-on-mongodb.ts';
import { countTabs, listHandlers, readStats } from './numbers.ts';
import { operatorParts } from './operator-parts.ts';
import { readOverview } from './overview.ts';
import { readSystem } from './system.ts';

/** What `mongoOperator` takes. */
export interface MongoOperatorOptions<Session> {
  /** A database of the driver, on a replica set: that of the services' outboxes and inboxes. */
  readonly db: MongoDatabase<Session>;
  /** The collection of outboxes. Default `outbox_events`. */
  readonly outbox?: string | undefined;
  /** The collection of inboxes. Default `inbox_messages`. */
  readonly inbox?: string | undefined;
  /** The collection of idempotency records. Default `idempotency_keys`. */
  readonly idempotency?: string | undefined;
  /** How long the database may take for one answer, in milliseconds, before that is `DATABASE_TIMEOUT`. Default 60,000. */
  readonly answerTimeoutMs?: number | undefined;
  /** Of the package, for `system`. Default `unknown`. */
  readonly version?: string | undefined;
}

const ANSWER_TIMEOUT_MS = 60_000;

/**
 * The operator's functions on MongoDB: over the outboxes and inboxes of all services of a database. A change and its line in the audit
 * (`holdfast_audit`) are one transaction. What needs PostgreSQL is refused with `NOT_ON_MONGODB`, and nothing is read or changed.
 */
export function mongoOperator<Session>(options: MongoOperatorOptions<Session>): Operator & OnMongodb {
  const { outbox, inbox, idempotency, answerTimeoutMs, version } = checked(options);
  const names = {
    outbox: outbox ?? 'outbox_events',
    inbox: inbox ?? 'inbox_messages',
    idempotency: idempotency ?? 'idempotency_keys',
  };
  const parts = operatorParts(options.db as unknown as Db, names, version ?? 'unknown');
  const verbs: Operator = {
    ...refusedVerbs(),
    ...messageReads(parts),
    ...messageVerbs(parts),
    ...groupReads(parts),
    deadLetters: (filter = {}) => listDeadLetters(parts, filter),
    messages: (filter = {}) => listMessages(parts, filter),
    messageTabs: () => countTabs(parts),
    stats: ({ countDelivered = false } = {}) => readStats(parts, countDelivered),
    handlers: () => listHandlers(parts),
    heldKeys: (filter = {}) => listHeldKeys(parts, filter),
    overview: ({ range = 'hour' } = {}) => readOverview(parts, range),
    system: () => readSystem(parts),
    audit: (filter = {}) => listAudit(parts, filter),
    idempotencyRecords: (filter = {}) => listRecords(parts, filter),
  };
  return { ...bounded(verbs, answerTimeoutMs ?? ANSWER_TIMEOUT_MS), store: 'mongodb' };
}

/** Each function with an end: a server that hangs is an error and not a wait. */
function bounded(verbs: Operator, timeoutMs: number): Operator {
  const each = Object.entries(verbs).map(([name, verb]) => [
    name,
    (...args: readonly unknown[]) =>
      answered(systemEffects, (verb as (...given: readonly unknown[]) => Promise<unknown>)(...args), timeoutMs),
  ]);
  return Object.fromEntries(each);
}

function checked<Session>(options: MongoOperatorOptions<Session>): MongoOperatorOptions<Session> {
  const check = new OptionCheck('mongoOperator()');
  if (!check.object('options', options, 'pass { db }')) check.done();
  check.known(options, ['db', 'outbox', 'inbox', 'idempotency', 'answerTimeoutMs', 'version']);
  checkDb(check, options.db);
  for (const name of ['outbox', 'inbox', 'idempotency'] as const)
    if (options[name] !== undefined) checkCollection(check, name, options[name]);
  const { answerTimeoutMs } = options;
  if (answerTimeoutMs !== undefined)
    check.number('answerTimeoutMs', answerTimeoutMs, {
      min: 1,
      max: 3_600_000,
      integer: true,
      write: 'write whole milliseconds from 1',
    });
  check.done();
  return options;
}
