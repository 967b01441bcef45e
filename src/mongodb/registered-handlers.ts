import type { Collection, Db } from 'mongodb';
import { systemEffects } from '../system/effects.ts';
import { ownCollection } from './collections.ts';

/** `outbox`: messages on their way to a broker. `inbox`: messages that came from one. */
export type BoxName = 'outbox' | 'inbox';

/** What takes the messages of one service and box, as operators see it. */
export interface HandlerDocument {
  /** The same as the id of its lease: the collection and the service. */
  readonly _id: string;
  /** Stands in the ids of dead letters, and never changes. */
  readonly number: number;
  readonly box: BoxName;
  readonly service: string;
  /** `to-redis` for an outbox, `inbox` for an inbox. */
  readonly name: string;
  /** The types an inbox takes, as its last start said; none for an outbox, which takes all. */
  readonly types: readonly string[];
  readonly registeredAt: Date;
}

/** Which handler, and what is known of it now: without a name it keeps the one it has. */
export interface Registration {
  readonly collection: string;
  readonly box: BoxName;
  readonly service: string;
  readonly name?: string;
  readonly types?: readonly string[];
}

const COLLECTION = 'holdfast_handlers';
/** Until a relay says which broker it publishes to. */
const UNTIL_KNOWN: Readonly<Record<BoxName, string>> = { outbox: 'to-broker', inbox: 'inbox' };

/** The handlers that have been registered. */
export function registeredHandlers(db: Db): Collection<HandlerDocument> {
  return ownCollection<HandlerDocument>(db, COLLECTION);
}

/** Registers a handler, or writes what has changed of it. Two that do so at once agree on its number. */
export async function registerHandler(db: Db, registration: Registration): Promise<void> {
  const { collection, box, service, name, types } = registration;
  const handlers = registeredHandlers(db);
  const id = `${collection}:${service}`;
  const now = { ...(name !== undefined && { name }), ...(types !== undefined && { types }) };
  const isKnown = async (): Promise<boolean> =>
    Object.keys(now).length === 0
      ? (await handlers.findOne({ _id: id })) !== null
      : (await handlers.updateOne({ _id: id }, { $set: now })).matchedCount === 1;
  if (await isKnown()) return;
  const registeredAt = new Date(systemEffects.now().wallMs);
  const first = { number: await nextNumber(db), box, service, registeredAt, name: UNTIL_KNOWN[box], types: [] };
  try {
    await handlers.insertOne({ _id: id, ...first, ...now });
  } catch (error) {
    // Another has registered it meanwhile: it has its number.
    if ((error as { code?: unknown }).code !== DUPLICATE) throw error;
    await isKnown();
  }
}

const DUPLICATE = 11_000;

async function nextNumber(db: Db): Promise<number> {
  const lines = ownCollection<{ readonly _id: string; readonly seq: number }>(db, 'holdfast_lines');
  const counter = await lines.findOneAndUpdate(
    { _id: 'handler numbers' },
    { $inc: { seq: 1 } },
    { upsert: true, returnDocument: 'after' },
  );
  return Number(counter?.seq);
}
