import type { DeliveryId } from '../../operator/delivery-id.ts';
import type { NotFound } from '../../operator/operator-outcomes.ts';
import { type DeliveryFacts, type DeliveryReason, describeReason, explain } from '../../operator/why.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** For each delivery of a message why it is not done. */
export async function whyMessage(
  sql: SqlRunner,
  schema: string,
  { messageId, handler }: DeliveryId,
): Promise<{ readonly kind: 'why'; readonly deliveries: readonly DeliveryReason[] } | NotFound> {
  const rows = await sql.query(`select row from ${schema}.why_facts($1::text, $2::text) row`, [
    messageId,
    handler ?? null,
  ]);
  if (rows.length === 0) return { kind: 'not-found' };
  return { kind: 'why', deliveries: rows.map((row) => toReason(toFacts(readJson(row, 'row') as Fields))) };
}

function toReason(facts: DeliveryFacts): DeliveryReason {
  const reason = explain(facts);
  const { id, handler } = facts;
  return { id, service: handler?.service, handler: handler?.name, reason, sentence: describeReason(reason) };
}

function toFacts(fields: Fields): DeliveryFacts {
  const facts = readRecord<DeliveryFacts>(fields, ['dueAt', 'endedAt']);
  const { handler, running, heldLine } = facts;
  return {
    ...facts,
    handler: handler && {
      ...readRecord<typeof handler>(handler, ['pausedAt']),
      breaker: handler.breaker && readRecord<typeof handler.breaker>(handler.breaker, ['probeAt']),
    },
    heldLine: heldLine && readRecord<typeof heldLine>(heldLine, ['probeAt']),
    running: running && readRecord<typeof running>(running, ['startedAt']),
  };
}
