import type { ClientSession, Document } from 'mongodb';
import { checkChange } from '../../operator/check-request.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { Edited } from '../../operator/operator-outcomes.ts';
import type { By, Operator } from '../../operator/operator.ts';
import { event } from '../../outbox/event.ts';
import { serializePayload } from '../../outbox/payload.ts';
import { storedJson } from '../stored-json.ts';
import { inTransaction } from '../transaction.ts';
import { writeAudit } from './audit-log.ts';
import { type FoundRow, fullName, versionOf } from './box-row.ts';
import { AGAIN, cyclesWith } from './change-rows.ts';
import { allRowsOf } from './message-list.ts';
import { notFailed } from './not-failed.ts';
import { notOnMongodb } from './not-on-mongodb.ts';
import { knownHandlers, type OperatorParts } from './operator-parts.ts';

/** So many old payloads of a message are kept. */
const MOST_VERSIONS = 20;

interface Edit {
  /** JSON text. */
  readonly payload: string;
  /** The version it is for; `undefined` for whichever it is. */
  readonly version: number | undefined;
  readonly by: By;
}

/**
 * Gives a failed message another payload and lets what failed run again, in one transaction with the audit. Each inbox has a payload of its
 * own, so all inboxes that have not ended get it; a run under way is refused its end, and begins again with the new one. Refused once an
 * inbox has processed the old payload. What an outbox has published stays as it was.
 */
export function messageEdit(parts: OperatorParts, prepared: () => Promise<unknown>): Operator['edit'] {
  return async (id, payload, by, { generation, version } = {}) => {
    checkChange('edit', by, { generation });
    if (generation !== undefined) throw notOnMongodb('an edit into another generation');
    const parsed = parseDeliveryId(id);
    if (isBadId(parsed)) return parsed;
    const { messageId } = parsed;
    const rows = (await allRowsOf(parts, await knownHandlers(parts), [messageId])).get(messageId) ?? [];
    const [first] = rows;
    if (!first) return { kind: 'not-found' };
    const edit = { payload: await serializePayload(event(first.row.eventType), payload), version, by };
    await prepared();
    return inTransaction(parts.db.client, (session) => editRows(parts, session, rows, edit));
  };
}

/** Judges and changes the rows as they are in this transaction: one that ends meanwhile makes the server refuse it, and it is done again. */
async function editRows(
  parts: OperatorParts,
  session: ClientSession,
  rows: readonly FoundRow[],
  { payload, version, by }: Edit,
): Promise<Edited> {
  const now: FoundRow[] = [];
  for (const { box, handler, row } of rows) {
    const { _id } = row;
    const found = await box.rows.findOne({ _id }, { session });
    if (found) now.push({ box, handler, row: found });
  }
  const handlers = now.filter(({ box, row }) => box.name === 'inbox' && row.state === 'done').map(fullHandlerName);
  if (handlers.length > 0) return { kind: 'already-delivered', handlers };
  const present = versionOf(now);
  if (version !== undefined && version !== present) return { kind: 'changed', version: present };
  const failed = now.filter(({ row }) => row.state === 'dead');
  if (failed.length === 0) return now.length > 0 ? notFailed(now) : { kind: 'not-found' };
  for (const found of now.filter(isEdited)) {
    const { _id } = found.row;
    await found.box.rows.updateOne({ _id }, editPipeline(found, payload, present, by), { session });
  }
  const details = { version: present + 1 };
  await writeAudit(parts, session, failed, { verb: 'edit', by, details: () => details });
  return { kind: 'edited', version: present + 1, count: failed.length };
}

function fullHandlerName({ handler }: FoundRow): string {
  return fullName(handler);
}

function isEdited({ box, row: { state } }: FoundRow): boolean {
  return state === 'dead' || (box.name === 'inbox' && (state === 'open' || state === 'waiting'));
}

function editPipeline(found: FoundRow, payload: string, version: number, by: By): Document[] {
  const old = {
    version: { $literal: version },
    payload: '$payload',
    editedAt: '$$NOW',
    actor: { $literal: by.actor },
    reason: { $literal: by.reason ?? null },
  };
  const versions = { $slice: [{ $concatArrays: [{ $ifNull: ['$versions', []] }, [old]] }, -MOST_VERSIONS] };
  const again = { ...AGAIN, replays: { $add: ['$replays', 1] } };
  return [
    { $set: { versions, ...(found.row.state === 'dead' && { failures: cyclesWith(found, by.actor) }) } },
    { $set: { payload: { $literal: storedJson(payload) }, version: version + 1, ...again } },
  ];
}
