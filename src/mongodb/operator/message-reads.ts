import { type DeliveryId, isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import { type DeliveryForecast, forecastDelivery, type PolicyLookup } from '../../operator/forecast.ts';
import type { BadId, NotFound } from '../../operator/operator-outcomes.ts';
import type { AuditRecord, DeliveryRecord, MessageDetail, MessageSummary } from '../../operator/operator-records.ts';
import type { Operator } from '../../operator/operator.ts';
import { type DeliveryFacts, type DeliveryReason, describeReason, explain } from '../../operator/why.ts';
import { consumer } from '../../retry/policies.ts';
import { jsonText } from '../stored-json.ts';
import { listAudit } from './audit-log.ts';
import { type BoxRow, deliveryIdOf, type FoundRow, messageIdOf, OPEN_STATES, versionOf } from './box-row.ts';
import { ownersOf } from './live-owners.ts';
import { allRowsOf } from './message-list.ts';
import { knownHandlers, type OperatorParts, serverTime } from './operator-parts.ts';
import { listedOf, statusOf } from './shown-rows.ts';
import { WITHOUT_PAYLOAD } from './walk.ts';

type Reads = Pick<Operator, 'find' | 'show' | 'why' | 'forecast'>;

/** What is known of one message. */
export function messageReads(parts: OperatorParts): Reads {
  return {
    find: async (id) => {
      const rows = await readRows(parts, id, {});
      return isRows(rows) ? { kind: 'found', message: summaryOf(rows) } : rows;
    },
    show: async (id) => {
      const rows = await readRows(parts, id, {});
      return isRows(rows) ? { kind: 'found', message: await detailOf(parts, rows) } : rows;
    },
    why: async (id) => {
      const rows = await readRows(parts, id);
      return isRows(rows) ? { kind: 'why', deliveries: await reasonsOf(parts, ofDelivery(rows, id)) } : rows;
    },
    forecast: async (id, policyOf) => {
      const rows = await readRows(parts, id);
      if (!isRows(rows)) return rows;
      const at = await serverTime(parts);
      const deliveries = ofDelivery(rows, id).map((found) => forecastOf(found, policyOf, at));
      return { kind: 'forecast', at, deliveries };
    },
  };
}

/** All rows of the message, whichever of its ids it is. */
async function readRows(
  parts: OperatorParts,
  id: string,
  projection?: Parameters<typeof allRowsOf>[3],
): Promise<readonly FoundRow[] | NotFound | BadId> {
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return parsed;
  const known = await knownHandlers(parts);
  const rows = (await allRowsOf(parts, known, [parsed.messageId], projection)).get(parsed.messageId) ?? [];
  return ofNumber(rows, parsed).length > 0 ? rows.toSorted(byNumber) : { kind: 'not-found' };
}

function isRows(rows: readonly FoundRow[] | NotFound | BadId): rows is readonly FoundRow[] {
  return Array.isArray(rows);
}

function byNumber(a: FoundRow, b: FoundRow): number {
  return a.handler.number - b.handler.number;
}

function ofDelivery(rows: readonly FoundRow[], id: string): readonly FoundRow[] {
  const parsed = parseDeliveryId(id);
  return isBadId(parsed) ? [] : ofNumber(rows, parsed);
}

function ofNumber(rows: readonly FoundRow[], { handler }: DeliveryId): readonly FoundRow[] {
  return rows.filter((one) => handler === undefined || one.handler.number === handler);
}

function summaryOf(rows: readonly FoundRow[]): MessageSummary {
  const { tab: _tab, deliveries: _deliveries, ...summary } = listedOf(rows);
  return summary;
}

async function detailOf(parts: OperatorParts, rows: readonly FoundRow[]): Promise<MessageDetail> {
  const summary = summaryOf(rows);
  const audit = (await listAudit(parts, { messageId: summary.id, limit: 1_000 })).items;
  // The payload of an inbox goes when its message is processed: another row may have it still.
  const [first] = rows;
  const { row } = rows.find(({ box, row: one }) => box.name === 'outbox' || one.state !== 'done') ?? first ?? {};
  if (!row) throw new TypeError('a message without a row');
  const version = versionOf(rows);
  return {
    ...summary,
    payload: payloadOf(rows, version),
    headers: Object.fromEntries(row.headers),
    aggregateType: row.aggType ?? undefined,
    aggregateId: row.aggId ?? undefined,
    correlationId: row.correlationId ?? undefined,
    causationId: row.causationId ?? undefined,
    traceparent: row.traceparent ?? undefined,
    tracestate: row.tracestate || undefined,
    version,
    deliveries: rows.map((found) => deliveryRecord(found, audit)),
    edits: editsOf(rows),
    audit,
  };
}

/** The payload of this version; `null` once no row has it. */
function payloadOf(rows: readonly FoundRow[], version: number): unknown {
  const edited = rows.filter(({ row }) => (row.version ?? 0) === version);
  const found = edited.find(({ box, row }) => box.name === 'outbox' || OPEN_STATES.includes(row.state)) ?? edited[0];
  return found && JSON.parse(jsonText(found.row.payload));
}

/** The payloads a message had, the oldest first: each once, however many of its rows have it. */
function editsOf(rows: readonly FoundRow[]): MessageDetail['edits'] {
  const edits = new Map(rows.flatMap(({ row }) => row.versions ?? []).map((one) => [one.version, one]));
  return [...edits.values()]
    .toSorted((a, b) => a.version - b.version)
    .map(({ version, payload, editedAt, actor, reason }) => ({
      version,
      editedAt,
      actor,
      payload: JSON.parse(jsonText(payload)) as unknown,
      reason: reason ?? undefined,
    }));
}

/** Who discarded it, and why; absent where that was done in code. */
function givenUpBy({ row, handler }: FoundRow, audit: readonly AuditRecord[]): AuditRecord | undefined {
  if (row.state !== 'discarded') return undefined;
  return audit.find(
    (one) =>
      (one.verb === 'discard' || one.verb === 'skip') &&
      one.service === handler.service &&
      one.handler === handler.name,
  );
}

function deliveryRecord(found: FoundRow, audit: readonly AuditRecord[]): DeliveryRecord {
  const { row, handler } = found;
  const givenUp = givenUpBy(found, audit);
  return {
    id: deliveryIdOf(found),
    service: handler.service,
    handler: handler.name,
    status: statusOf(row),
    attempts: row.attempts,
    cycle: row.replays,
    rerun: 0,
    version: row.version ?? 0,
    generation: row.generation ?? undefined,
    error: row.error ?? undefined,
    dueAt: row.dueAt ?? undefined,
    firstFailedAt: undefined,
    failedAt: row.deadAt ?? undefined,
    doneAt: row.endedAt ?? undefined,
    durationMs: undefined,
    running: undefined,
    holds: row.key !== null && (row.state === 'dead' || row.state === 'waiting'),
    failureHistory: row.failures ?? [],
    reason: givenUp?.reason,
    actor: givenUp?.actor,
  };
}

async function reasonsOf(parts: OperatorParts, rows: readonly FoundRow[]): Promise<readonly DeliveryReason[]> {
  const owners = await ownersOf(parts);
  const [first] = rows;
  const messageId = first && messageIdOf(first);
  const audit = messageId === undefined ? [] : (await listAudit(parts, { messageId, limit: 1_000 })).items;
  const nowMs = (await serverTime(parts)).getTime();
  return Promise.all(
    rows.map(async (found) => {
      const owner = owners.get(found.handler.id)?.owner;
      const facts = { ...factsOf(found, audit, nowMs), ...served(found, owner), ahead: await aheadOf(found) };
      const reason = explain(facts);
      const { service, name: handler } = found.handler;
      return { id: facts.id, service, handler, reason, sentence: describeReason(reason) };
    }),
  );
}

function served({ handler }: FoundRow, owner: string | undefined): Pick<DeliveryFacts, 'handler' | 'lane' | 'owner'> {
  const workers = owner === undefined ? 0 : 1;
  const { service, name } = handler;
  return { owner, lane: { workers }, handler: { service, name, isPinned: false, pausedAt: undefined, workers } };
}

function factsOf(
  found: FoundRow,
  audit: readonly AuditRecord[],
  nowMs: number,
): Omit<DeliveryFacts, 'handler' | 'lane' | 'owner' | 'ahead'> {
  const { row } = found;
  const givenUp = givenUpBy(found, audit);
  return {
    id: deliveryIdOf(found),
    type: row.eventType,
    key: row.key ?? undefined,
    generation: row.generation ?? undefined,
    state: statusOf(row),
    attempts: row.attempts,
    dueAt: row.dueAt ?? undefined,
    dueInMs: row.dueAt ? row.dueAt.getTime() - nowMs : undefined,
    endedAt: row.endedAt ?? row.deadAt ?? undefined,
    error: row.error ?? undefined,
    reason: givenUp?.reason,
    actor: givenUp?.actor,
    running: undefined,
    isAllPaused: false,
  };
}

/** The first message of its key that must go before it. */
async function aheadOf({ box, row }: FoundRow): Promise<DeliveryFacts['ahead']> {
  if (row.key === null || (row.state !== 'open' && row.state !== 'waiting')) return undefined;
  const before = { service: row.service, key: row.key, state: { $in: [...OPEN_STATES] }, seq: { $lt: row.seq } };
  const [first] = await box.rows.find(before, { projection: WITHOUT_PAYLOAD }).sort({ seq: 1 }).limit(1).toArray();
  if (!first) return undefined;
  const ahead = first as BoxRow;
  const state = statusOf(ahead);
  const isOpen = state === 'ready' || state === 'waiting' || state === 'failed';
  return isOpen ? { messageId: messageIdOf({ box, row: ahead }), state } : undefined;
}

function forecastOf(found: FoundRow, policyOf: PolicyLookup | undefined, at: Date): DeliveryForecast {
  const { row, handler } = found;
  const plan = {
    id: deliveryIdOf(found),
    service: handler.service,
    handler: handler.name,
    status: statusOf(row),
    attempts: row.attempts,
    dueAt: row.dueAt ?? undefined,
    retry: row.retry ?? undefined,
  };
  return forecastDelivery(plan, (one) => policyOf?.(one) ?? consumer, at);
}
