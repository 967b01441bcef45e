import type { Collection, Db } from 'mongodb';
import { answered } from '../answered.ts';
import { ownCollection } from '../collections.ts';
import type { RecordDocument } from '../record-document.ts';
import { type HandlerDocument, registeredHandlers, registerHandler } from '../registered-handlers.ts';
import { systemEffects } from '../../system/effects.ts';
import type { Box, BoxRow } from './box-row.ts';
import { fullName } from './box-row.ts';
import type { AuditDocument } from './audit-log.ts';
import type { HandlerRefusal } from '../../operator/operator-outcomes.ts';

/** What all verbs work on. */
export interface OperatorParts {
  readonly db: Db;
  readonly boxes: readonly Box[];
  readonly records: Collection<RecordDocument>;
  readonly audit: Collection<AuditDocument>;
  /** Of the package, for `system`. */
  readonly version: string;
}

/** Names of the collections. */
export interface OperatedCollections {
  readonly outbox: string;
  readonly inbox: string;
  readonly idempotency: string;
}

/** The parts over a database. Nothing is sent yet. */
export function operatorParts(db: Db, names: OperatedCollections, version: string): OperatorParts {
  return {
    db,
    boxes: [
      { name: 'outbox', rows: ownCollection<BoxRow>(db, names.outbox) },
      { name: 'inbox', rows: ownCollection<BoxRow>(db, names.inbox) },
    ],
    records: ownCollection<RecordDocument>(db, names.idempotency),
    audit: ownCollection<AuditDocument>(db, 'holdfast_audit'),
    version,
  };
}

/** A handler, and the box it takes messages from. */
export interface KnownHandler extends Omit<HandlerDocument, '_id'> {
  /** The same as the id of its lease. */
  readonly id: string;
  readonly of: Box;
}

/** All handlers that there are: those that have started, and those of services whose messages lie here. By service and name. */
export async function knownHandlers({ db, boxes }: OperatorParts): Promise<readonly KnownHandler[]> {
  const isKnown = new Set((await registeredHandlers(db).find().project({ _id: 1 }).toArray()).map(({ _id }) => _id));
  for (const { name: box, rows } of boxes) {
    const collection = rows.collectionName;
    // Along the index, one step for each service.
    for (const service of await rows.distinct('service')) {
      if (!isKnown.has(`${collection}:${service}`)) await registerHandler(db, { collection, box, service });
    }
  }
  const found = await registeredHandlers(db).find().toArray();
  return found
    .flatMap(({ _id: id, ...handler }) => {
      const of = boxes.find(({ rows }) => `${rows.collectionName}:${handler.service}` === id);
      return of ? [Object.assign(handler, { id, of })] : [];
    })
    .toSorted((a, b) => (fullName(a) < fullName(b) ? -1 : 1));
}

/** The handlers that a filter means. An unknown name means none. */
export function handlersOf(
  known: readonly KnownHandler[],
  { service, handler }: { readonly service?: string | undefined; readonly handler?: string | undefined },
): readonly KnownHandler[] {
  return known.filter(
    (one) =>
      (service === undefined || one.service === service) &&
      (handler === undefined || one.name === handler || fullName(one) === handler),
  );
}

/** The handlers that go by these names, in their order; or the first name that is not one handler's. */
export function resolveHandlers(
  known: readonly KnownHandler[],
  names: readonly string[],
): readonly KnownHandler[] | HandlerRefusal {
  const found: KnownHandler[] = [];
  for (const name of names) {
    const fits = handlersOf(known, { handler: name });
    const [first] = fits;
    if (first === undefined) return { kind: 'unknown-handler', name, known: known.map(fullName) };
    if (fits.length > 1) return { kind: 'ambiguous-handler', name, write: fits.map(fullName) };
    found.push(first);
  }
  return found;
}

/** The time of the server. */
export async function serverTime({ db }: OperatorParts): Promise<Date> {
  const { localTime } = await answered(systemEffects, db.admin().command({ hello: 1 }));
  return localTime instanceof Date ? localTime : new Date(systemEffects.now().wallMs);
}
