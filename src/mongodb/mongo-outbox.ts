import type { ClientSession, Db } from 'mongodb';
import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { NewMessage, SendResult } from '../outbox/outbox-store.ts';
import { createSending, type Sending, type SendWrapper } from '../outbox/sending.ts';
import { newId } from '../system/new-id.ts';
import { systemEffects } from '../system/effects.ts';
import { answered, PREPARE_MS } from './answered.ts';
import { before, checkCollection, checkDb, checkService } from './collections.ts';
import { deadMessages } from './dead-letters.ts';
import type { DeadMessages } from './dead-messages.ts';
import { Lines } from './lines.ts';
import type { MongoDatabase } from './mongo-database.ts';
import { publishRound } from './publish-round.ts';
import { registerHandler } from './registered-handlers.ts';
import { type OutboxRow, rowOf, storedRow } from './row.ts';
import { Rows } from './rows.ts';
import { hostOf, leasedWorker, OUTBOX_UNIT, runningUntil } from './running.ts';
import { checkStart, type MongoStartOptions, type Running, type StartParts } from './start-options.ts';
import { transactionsOf, withEffect } from './transaction.ts';

/** What `mongoOutbox` takes. */
export interface MongoOutboxOptions<Session> {
  /** A database of the driver, on a replica set. */
  readonly db: MongoDatabase<Session>;
  /** The name of this service: the `source` of what it sends. */
  readonly service: string;
  /** Where messages are kept. Default `outbox_events`. */
  readonly collection?: string | undefined;
  /** How long published messages are kept, in milliseconds. Default: seven days. */
  readonly keepMs?: number | undefined;
  /** Is called around each `send` and `sendAll`: `traceSends(tracer)` of `holdfast/telemetry`. */
  readonly wrapSend?: SendWrapper | undefined;
}

/** The outbox of one service. */
export interface MongoOutbox<Session> extends Sending<Session> {
  /** Makes collections and indexes. Done before the first send as well; a deployment may do it earlier. */
  prepare(): Promise<void>;
  /** Runs work in a transaction, again where the server asks for it, and commits it. Hand its session to `send`. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Publishes what was sent, also before. One process of a service does so at a time; the others stand by. */
  start(options: MongoStartOptions): Promise<Running>;
  readonly dead: DeadMessages;
}

const WEEK_MS = 7 * 86_400_000;

/**
 * A transactional outbox in MongoDB: messages are written in the caller's session, leave with its commit or not at all, and are
 * published through a broker: each at least once, those of a key in the order of their commits.
 */
export function mongoOutbox<Session>(options: MongoOutboxOptions<Session>): MongoOutbox<Session> {
  const { service, collection = 'outbox_events', keepMs = WEEK_MS, wrapSend } = checked(options);
  const db = options.db as unknown as Db;
  const effects = systemEffects;
  const rows = new Rows<OutboxRow>({
    db,
    collection,
    service,
    effects,
    doneAt: ['publishedAt'],
    keepMs,
    indexes: [
      {
        name: 'holdfast_idempotency',
        key: { service: 1, idempotencyKey: 1 },
        unique: true,
        partialFilterExpression: { idempotencyKey: { $type: 'string' } },
      },
    ],
  });
  const lines = new Lines(db, collection);
  const hasTransactions = transactionsOf(db, 'mongoOutbox()');
  const prepare = before(async () => {
    await hasTransactions();
    await answered(effects, Promise.all([rows.prepare(), lines.prepare()]), PREPARE_MS);
  });
  const outbox: MongoOutbox<ClientSession> = {
    ...createSending<ClientSession>(
      { service, generation: undefined, wrapSend },
      {
        append: async (session, messages) => {
          checkSession(session, messages);
          await prepare();
          return answered(effects, append({ rows, lines, service }, session, messages));
        },
      },
    ),
    prepare,
    transaction: async (work) => {
      await prepare();
      return withEffect(db.client, work, async (_, value) => value);
    },
    dead: deadMessages(rows),
    start: async (startOptions) => {
      const start = checkStart('mongoOutbox().start()', startOptions);
      await prepare();
      return startOutbox({ db, rows, service, collection }, start);
    },
  };
  // The sessions are those of the client that was handed in.
  return outbox as unknown as MongoOutbox<Session>;
}

interface OutboxParts {
  readonly db: Db;
  readonly rows: Rows<OutboxRow>;
  readonly service: string;
  readonly collection: string;
}

async function startOutbox({ db, rows, service, collection }: OutboxParts, start: StartParts): Promise<Running> {
  const { transport, tell, wrapRun } = start;
  const { handler } = transport.handlers(hostOf(service, start, [])).to;
  if (handler.kind !== 'publish') throw new TypeError('what the transport publishes by is no publisher');
  await answered(systemEffects, registerHandler(db, { collection, box: 'outbox', service, name: handler.name }));
  const round = publishRound({ rows, handler, effects: systemEffects, tell, wrapRun });
  tell({ kind: 'started', handlers: [{ handler: handler.name, types: [] }] });
  const [id, unit] = [`${collection}:${service}`, OUTBOX_UNIT];
  const worker = leasedWorker({ db, id, owner: newId(), start, rows, service, unit, round });
  return runningUntil(async () => {
    await worker.stop();
    await transport.close().catch(() => undefined);
  });
}

function checked<Session>(options: MongoOutboxOptions<Session>): MongoOutboxOptions<Session> {
  const check = new OptionCheck('mongoOutbox()');
  if (!check.object('options', options, 'pass { db, service }')) check.done();
  check.known(options, ['db', 'service', 'collection', 'keepMs', 'wrapSend']);
  checkDb(check, options.db);
  checkService(check, options.service);
  if (options.collection !== undefined) checkCollection(check, 'collection', options.collection);
  if (options.wrapSend !== undefined && typeof options.wrapSend !== 'function')
    check.refuse('wrapSend', options.wrapSend, 'pass a function, for example traceSends(tracer), or leave it out');
  if (options.keepMs !== undefined)
    check.number('keepMs', options.keepMs, {
      min: 60_000,
      integer: true,
      write: 'write whole milliseconds from 60000',
    });
  check.done();
  return options;
}

/** A session without a transaction would write at once, whatever becomes of the rest. */
function checkSession(session: unknown, messages: readonly NewMessage[]): void {
  const isIn = typeof (session as Partial<ClientSession> | undefined)?.inTransaction === 'function';
  if (!isIn || !(session as ClientSession).inTransaction()) throw new HoldfastError('MONGODB_SESSION_IDLE', {});
  if (!messages.some(({ deliverAt }) => deliverAt)) return;
  const check = new OptionCheck('send()');
  check.add({ option: 'deliverAt', found: 'a date', write: 'leave it out: the outbox in MongoDB sends at once' });
  check.done();
}

interface AppendParts {
  readonly rows: Rows<OutboxRow>;
  readonly lines: Lines;
  readonly service: string;
}

async function append(
  { rows, lines, service }: AppendParts,
  session: ClientSession,
  messages: readonly NewMessage[],
): Promise<readonly SendResult[]> {
  const known = await knownKeys(rows, service, session, messages);
  const results: SendResult[] = [];
  const fresh: NewMessage[] = [];
  for (const message of messages) {
    const { id, idempotencyKey } = message;
    const first = idempotencyKey === undefined ? undefined : known.get(idempotencyKey);
    if (first === undefined) fresh.push(message);
    if (idempotencyKey !== undefined && first === undefined) known.set(idempotencyKey, id);
    results.push(first === undefined ? { kind: 'stored', id } : { kind: 'duplicate', id: first });
  }
  const places = await placesOf(lines, session, fresh);
  const createdAt = new Date(systemEffects.now().wallMs);
  const written = fresh.map((message, place): OutboxRow => {
    const about = { _id: message.id, service, seq: places[place] ?? 0, createdAt };
    return Object.assign(rowOf(message, about), { publishedAt: null });
  });
  if (written.length > 0) await rows.collection.insertMany(written.map(storedRow), { session });
  return results;
}

async function knownKeys(
  rows: Rows<OutboxRow>,
  service: string,
  session: ClientSession,
  messages: readonly NewMessage[],
): Promise<Map<string, string>> {
  const keys = messages.flatMap(({ idempotencyKey }) => idempotencyKey ?? []);
  if (keys.length === 0) return new Map();
  const found = await rows.collection
    .find({ service, idempotencyKey: { $in: keys } }, { session, projection: { idempotencyKey: 1 } })
    .toArray();
  return new Map(found.map(({ _id, idempotencyKey }) => [String(idempotencyKey), _id]));
}

/** The place of each message. Those without a key need no order, and so no line that others would meet in. */
async function placesOf(
  lines: Lines,
  session: ClientSession,
  messages: readonly NewMessage[],
): Promise<readonly number[]> {
  const byLine = new Map<string, number[]>();
  const places = messages.map(() => systemEffects.now().wallMs * 1000);
  for (const [place, { key }] of messages.entries()) {
    if (key === undefined) continue;
    const line = lines.of(key);
    byLine.set(line, [...(byLine.get(line) ?? []), place]);
  }
  // One after the other: a session does one thing at a time.
  for (const [line, ofLine] of byLine) {
    const first = await lines.reserve(line, ofLine.length, session);
    for (const [nth, place] of ofLine.entries()) places[place] = first + nth;
  }
  return places;
}
