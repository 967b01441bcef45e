import type { ClientSession, Filter } from 'mongodb';
import { checkAuditFilter } from '../../operator/check-request.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { AuditRecord, AuditVerb } from '../../operator/operator-records.ts';
import type { AuditFilter, By, Page, Paging } from '../../operator/operator.ts';
import { Lines } from '../lines.ts';
import { type FoundRow, messageIdOf } from './box-row.ts';
import { handlersOf, knownHandlers, type OperatorParts } from './operator-parts.ts';
import { timeOfPlace } from './walk.ts';

/** One change by hand. */
export interface AuditDocument {
  /** Its place among all changes, and by that its time. */
  readonly _id: number;
  readonly at: Date;
  readonly actor: string;
  readonly verb: AuditVerb;
  readonly reason: string | null;
  readonly messageId: string;
  /** The id of the handler. */
  readonly handler: string;
  readonly service: string;
  /** As the handler was called then. */
  readonly handlerName: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What was done to rows, by whom and why. */
export interface AuditedChange {
  readonly verb: AuditVerb;
  readonly by: By;
  readonly details: (row: FoundRow) => Readonly<Record<string, unknown>>;
}

/** Makes the collection and its index, so that a transaction need not. */
export async function prepareAudit({ db, audit }: OperatorParts): Promise<void> {
  await new Lines(db, 'audit').prepare();
  await audit.createIndex({ messageId: 1, _id: 1 }, { name: 'holdfast_message' });
}

/** Writes down what is changed in the same transaction. */
export async function writeAudit(
  { db, audit }: OperatorParts,
  session: ClientSession,
  rows: readonly FoundRow[],
  { verb, by, details }: AuditedChange,
): Promise<void> {
  if (rows.length === 0) return;
  const first = await new Lines(db, 'audit').reserve('audit', rows.length, session);
  const documents = rows.map((found, nth): AuditDocument => ({
    _id: first + nth,
    at: timeOfPlace(first + nth),
    actor: by.actor,
    verb,
    reason: by.reason ?? null,
    messageId: messageIdOf(found),
    handler: found.handler.id,
    service: found.handler.service,
    handlerName: found.handler.name,
    details: details(found),
  }));
  await audit.insertMany(documents, { session });
}

/** What was changed by hand, the newest first. */
export async function listAudit(parts: OperatorParts, filter: AuditFilter & Paging): Promise<Page<AuditRecord>> {
  checkAuditFilter(filter);
  const { messageId, actor, verb, handler, since, limit = 100, cursor } = filter;
  const id = messageId === undefined ? undefined : parseDeliveryId(messageId);
  const handlers = handler === undefined ? undefined : handlersOf(await knownHandlers(parts), { handler });
  const wanted: Filter<AuditDocument> = {
    ...(id && !isBadId(id) && { messageId: id.messageId }),
    ...(actor !== undefined && { actor }),
    ...(verb !== undefined && { verb }),
    ...(handlers && { handler: { $in: handlers.map(({ id: of }) => of) } }),
    ...(since && { at: { $gte: since } }),
    ...(cursor !== undefined && { _id: { $lt: Number(cursor) } }),
  };
  const found = await parts.audit
    .find(wanted)
    .sort({ _id: -1 })
    .limit(limit + 1)
    .toArray();
  const items = found.slice(0, limit).map(auditRecord);
  return { items, next: found.length > limit ? String(items.at(-1)?.id) : undefined };
}

function auditRecord({
  _id: id,
  at,
  actor,
  verb,
  reason,
  messageId,
  service,
  handlerName,
  details,
}: AuditDocument): AuditRecord {
  return { id, at, actor, verb, reason: reason ?? undefined, messageId, service, handler: handlerName, details };
}
