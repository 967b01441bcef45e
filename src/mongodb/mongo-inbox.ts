import type { Db } from 'mongodb';
import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { HandledEvent } from '../outbox/event.ts';
import type { HandlingHandler } from '../relay/handler.ts';
import { eventHandlerClassifier } from '../retry/classifier.ts';
import { consumer } from '../retry/policies.ts';
import { type Policy, toPolicy } from '../retry/policy.ts';
import { newId } from '../system/new-id.ts';
import { systemEffects } from '../system/effects.ts';
import { KEPT_TYPES } from '../transport/kept-message.ts';
import { answered, PREPARE_MS } from './answered.ts';
import { before, checkCollection, checkDb, checkService } from './collections.ts';
import { deadMessages } from './dead-letters.ts';
import type { DeadMessages } from './dead-messages.ts';
import { Handling } from './handle-round.ts';
import { handleBy, type InboxTake } from './inbox-handler.ts';
import { Lines } from './lines.ts';
import type { MongoDatabase } from './mongo-database.ts';
import type { MongoHandle } from './mongo-handle.ts';
import { mirrorDead } from './mirror-dead.ts';
import { receiveInto } from './receive.ts';
import { registerHandler } from './registered-handlers.ts';
import type { InboxRow } from './row.ts';
import { Rows } from './rows.ts';
import { hostOf, INBOX_UNIT, leasedWorker, runningUntil, wakeupOf } from './running.ts';
import { checkStart, type MongoStartOptions, type Running, type StartParts } from './start-options.ts';
import { transactionsOf } from './transaction.ts';

/** What `mongoInbox` takes. */
export interface MongoInboxOptions<Session> {
  /** A database of the driver, on a replica set. */
  readonly db: MongoDatabase<Session>;
  /** The name of this service: each service has its own copy of what a broker has. */
  readonly service: string;
  /** Where messages are kept. Default `inbox_messages`. */
  readonly collection?: string | undefined;
  /** How long a processed message is remembered, so that its next arrival has no effect, in milliseconds. Default: seven days. */
  readonly keepMs?: number | undefined;
  /** How many messages are handled at once, of different keys. Default 16. */
  readonly concurrency?: number | undefined;
  /** How often and when a failed message is tried again; its `timeoutMs` is not used. Default `consumer`: seven attempts, 250 ms doubling to 30 s. */
  readonly policy?: Policy | undefined;
  /** How long one attempt may take, in milliseconds. Default 30,000; MongoDB itself ends transactions after a minute. */
  readonly timeoutMs?: number | undefined;
}

/** The inbox of one service. */
export interface MongoInbox<Session> {
  /** Registers the handler of a kind of message; before `start`. */
  on<Payload>(event: HandledEvent<Payload>, handle: MongoHandle<Payload, Session>): void;
  /** Makes collections and indexes. `start` does so too; a deployment may do it earlier. */
  prepare(): Promise<void>;
  /** Takes messages from a broker and handles them. All processes of a service take them in; one at a time handles them. */
  start(options: MongoStartOptions): Promise<Running>;
  readonly dead: DeadMessages;
}

const WEEK_MS = 7 * 86_400_000;

/**
 * An inbox in MongoDB: what a broker has is stored, then acknowledged, then handled, each message with one effect however often it
 * arrives; of a key one after the other. What fails is tried seven times, then it is dead.
 */
export function mongoInbox<Session>(options: MongoInboxOptions<Session>): MongoInbox<Session> {
  const {
    service,
    collection = 'inbox_messages',
    keepMs = WEEK_MS,
    concurrency = 16,
    policy = consumer,
    timeoutMs = 30_000,
  } = checked(options);
  const db = options.db as unknown as Db;
  const takes = new Map<string, InboxTake>();
  const rows = new Rows<InboxRow>({
    db,
    collection,
    service,
    effects: systemEffects,
    doneAt: ['firstProcessedAt', 'lastProcessedAt'],
    // Its id is what is remembered.
    dropped: { payload: 'null', headers: [] },
    whenDead: { isMirrored: false },
    types: () => [...takes.keys(), ...KEPT_TYPES],
    keepMs,
  });
  const lines = new Lines(db, collection);
  const hasTransactions = transactionsOf(db, 'mongoInbox()');
  const prepare = before(async () => {
    await hasTransactions();
    await answered(systemEffects, Promise.all([rows.prepare(), lines.prepare()]), PREPARE_MS);
  });
  const handler: HandlingHandler<unknown> = { ...RULES, policy: toPolicy(policy), concurrency, timeoutMs };
  return {
    on: (event, handle) => {
      if (takes.has(event.type)) {
        const check = new OptionCheck('on()');
        check.refuseName('event', event.type, 'register one handler for a type');
        check.done();
      }
      takes.set(event.type, { event, handle: handle as InboxTake['handle'] });
    },
    prepare,
    dead: deadMessages(rows),
    start: async (startOptions) => {
      const start = checkStart('mongoInbox().start()', startOptions);
      if (takes.size === 0) throw new HoldfastError('HANDLERS_MISSING', { service });
      await prepare();
      const types = [...takes.keys(), ...KEPT_TYPES];
      await answered(systemEffects, registerHandler(db, { collection, box: 'inbox', service, types }));
      return startInbox({ db, rows, lines, service, collection, takes, handler }, start);
    },
  };
}

interface InboxParts {
  readonly db: Db;
  readonly rows: Rows<InboxRow>;
  readonly lines: Lines;
  readonly service: string;
  readonly collection: string;
  readonly takes: ReadonlyMap<string, InboxTake>;
  readonly handler: HandlingHandler<unknown>;
}

function startInbox(parts: InboxParts, start: StartParts): Running {
  const { db, rows, lines, service, collection, takes, handler } = parts;
  const effects = systemEffects;
  const { transport, tell, wrapRun } = start;
  const types = [...takes.keys()];
  const idOf = ({ _id: id }: InboxRow): string => id.slice(service.length + 1);
  const receive = receiveInto({ db, rows, lines, service });
  const host = hostOf(service, start, types, receive);
  const wakeup = wakeupOf(rows, service, start);
  const handle = handleBy(takes, transport.handlers<unknown>(host).from.handler, handler.policy.maxAttempts);
  const handling = new Handling({ db, rows, wakeup, handler, handle, idOf, effects, tell, wrapRun });
  tell({ kind: 'started', handlers: [{ handler: handler.name, types }] });
  const mirror = mirrorDead({ rows, service, host, transport, idOf }, handling.round);
  const { round } = mirror;
  const settled = async (): Promise<void> => void (await Promise.all([handling.settled(), mirror.settled()]));
  const id = `${collection}:${service}`;
  const unit = INBOX_UNIT;
  const worker = leasedWorker({ db, id, owner: newId(), start, rows, service, unit, round, settled, wakeup });
  const receiving = transport.receive(host, { isDead: false });
  return runningUntil(async () => {
    await receiving.stop();
    await worker.stop();
    await transport.close().catch(() => undefined);
  });
}

const RULES = {
  kind: 'handle',
  name: 'inbox',
  classifier: eventHandlerClassifier,
  onDead: 'block',
  repeatable: false,
  takes: new Map<never, never>(),
} as const;

function checked<Session>(options: MongoInboxOptions<Session>): MongoInboxOptions<Session> {
  const check = new OptionCheck('mongoInbox()');
  if (!check.object('options', options, 'pass { db, service }')) check.done();
  const { db, service, collection, keepMs = WEEK_MS, concurrency = 16, timeoutMs = 30_000 } = options;
  check.known(options, ['db', 'service', 'collection', 'keepMs', 'concurrency', 'policy', 'timeoutMs']);
  checkDb(check, db);
  checkService(check, service);
  if (collection !== undefined) checkCollection(check, 'collection', collection);
  const ms = 'write whole milliseconds';
  check.number('keepMs', keepMs, { min: 60_000, integer: true, write: `${ms} from 60000` });
  check.number('concurrency', concurrency, { min: 1, max: 1_000, integer: true, write: 'write 1 to 1000' });
  check.number('timeoutMs', timeoutMs, { min: 1, max: 3_600_000, integer: true, write: `${ms} from 1` });
  check.done();
  return options;
}
