import { OptionCheck } from '../../kernel/check-options.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { DELIVERY_TYPE, type DeliveryRequest } from '../../delivery/delivery-request.ts';
import { checkChange } from '../../operator/check-request.ts';
import { isBadId, parseDeliveryId } from '../../operator/delivery-id.ts';
import type { Cancelled, Discarded, Edited, Replayed } from '../../operator/operator-outcomes.ts';
import type { DeliveryStatus } from '../../operator/operator-records.ts';
import type { By, Operator } from '../../operator/operator.ts';
import { event } from '../../outbox/event.ts';
import { serializePayload } from '../../outbox/payload.ts';
import type { Sealing } from '../../outbox/sealing.ts';
import { PERSON_HEADER, sealPayload } from '../../outbox/stored-payload.ts';
import { restoredRequest } from '../delivery/shown-request.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { replayWhere } from './dead-letter-list.ts';
import { resolveHandler, resolveHandlers } from './resolve-handlers.ts';

/** The verbs that change messages. */
type MessageVerbs = Pick<
  Operator,
  'replay' | 'replayWhere' | 'replayKey' | 'discard' | 'discardKey' | 'edit' | 'cancel'
>;

/** The verbs that change messages, each one statement. */
export function messageVerbs(sql: SqlRunner, schema: string, sealing: Sealing | undefined): MessageVerbs {
  return {
    replay: (id, by, options = {}) => replay(sql, schema, id, by, options),
    discard: (id, by, options = {}) => discard(sql, schema, id, by, options),
    async replayWhere(filter, by, { generation } = {}) {
      checkChange('replayWhere', by, { generation });
      const count = await replayWhere(sql, schema, filter, [generation ?? null, by.actor, by.reason ?? null]);
      return { kind: 'replayed', count };
    },
    async replayKey(handler, key, by, { generation } = {}) {
      checkChange('replayKey', by, { generation });
      const call = `operator_replay(array_agg(d.id), array_agg(d.handler), $3::text::bigint, $4::text, $5::text)`;
      const count = await changeKey(sql, schema, call, handler, [key, generation ?? null, by.actor, by.reason ?? null]);
      return typeof count === 'number' ? { kind: 'replayed', count } : count;
    },
    async discardKey(handler, key, by) {
      checkChange('discardKey', by, { needsReason: true });
      const call = `operator_discard(array_agg(d.id), array_agg(d.handler), false, 1::smallint, $3::text, $4::text)`;
      const count = await changeKey(sql, schema, call, handler, [key, by.actor, by.reason]);
      return typeof count === 'number' ? { kind: 'discarded', count } : count;
    },
    edit: (id, payload, by, options = {}) => edit({ sql, schema, sealing }, id, payload, by, options),
    async cancel(id, by) {
      checkChange('cancel', by);
      const parsed = parseDeliveryId(id);
      if (isBadId(parsed)) return parsed;
      if (parsed.handler !== undefined) {
        const problem =
          "a message is cancelled for all its handlers, so pass the message's id; discard gives up one part";
        return { kind: 'bad-id', problem };
      }
      const call = `operator_cancel($1::text::uuid, $2::text, $3::text)`;
      return ask<Cancelled>(sql, schema, call, [parsed.messageId, by.actor, by.reason ?? null]);
    },
  };
}

/** Calls a function that answers with an outcome. */
async function ask<Outcome>(
  sql: SqlRunner,
  schema: string,
  call: string,
  params: readonly SqlParam[],
): Promise<Outcome> {
  const [row] = await sql.query(`select ${schema}.${call}::text as answer`, params);
  return JSON.parse(String(row?.['answer'])) as Outcome;
}

async function replay(
  sql: SqlRunner,
  schema: string,
  id: string,
  by: By,
  options: NonNullable<Parameters<Operator['replay']>[2]>,
): Promise<Replayed> {
  checkChange('replay', by, options);
  const { handlers, rerun = false, skip = false, generation = null } = options;
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return parsed;
  checkHandlers('replay', handlers, parsed.handler, rerun);
  const change = [generation, by.actor, by.reason ?? null];
  if (parsed.handler !== undefined) {
    const call = `operator_replay(array[$1::text::uuid], array[$2::text::smallint], $3::text::bigint, $4::text, $5::text)`;
    const count = await ask<number>(sql, schema, call, [parsed.messageId, parsed.handler, ...change]);
    if (count > 0) return { kind: 'replayed', count };
    return notFailed(sql, schema, parsed.messageId, [parsed.handler]);
  }
  const numbers = handlers && (await resolveHandlers(sql, schema, handlers));
  if (numbers && 'kind' in numbers) return numbers;
  const call = `operator_replay_message($1::text::uuid, $2::text[]::smallint[], $3::text::boolean, $4::text::boolean, $5::text::bigint, $6::text, $7::text)`;
  return ask<Replayed>(sql, schema, call, [parsed.messageId, numbers?.map(String) ?? null, rerun, skip, ...change]);
}

async function discard(
  sql: SqlRunner,
  schema: string,
  id: string,
  by: By,
  options: NonNullable<Parameters<Operator['discard']>[2]>,
): Promise<Discarded> {
  checkChange('discard', by, { needsReason: true });
  const { handlers, open = false } = options;
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return parsed;
  checkHandlers('discard', handlers, parsed.handler, false);
  const named = handlers && (await resolveHandlers(sql, schema, handlers));
  if (named && 'kind' in named) return named;
  const numbers = named ?? (parsed.handler === undefined ? undefined : [parsed.handler]);
  const text = `select ${schema}.operator_discard(array_agg(d.id), array_agg(d.handler), $3::text::boolean, 1::smallint, $4::text, $5::text) as count
    from ${schema}.delivery d where d.id = $1::text::uuid and ($2::text[] is null or d.handler = any ($2::text[]::smallint[]))`;
  const params = [parsed.messageId, numbers?.map(String) ?? null, open, by.actor, by.reason ?? null];
  const count = Number((await sql.query(text, params))[0]?.['count']);
  return count > 0 ? { kind: 'discarded', count } : notFailed(sql, schema, parsed.messageId, numbers);
}

async function edit(
  { sql, schema, sealing }: { readonly sql: SqlRunner; readonly schema: string; readonly sealing: Sealing | undefined },
  id: string,
  payload: unknown,
  by: By,
  { generation, version }: NonNullable<Parameters<Operator['edit']>[3]>,
): Promise<Edited> {
  checkChange('edit', by, { generation });
  const parsed = parseDeliveryId(id);
  if (isBadId(parsed)) return parsed;
  const typeRead = `select type, case type when '${DELIVERY_TYPE}' then payload::text end as request,
      payload -> '$sealed' ->> 'key' as sealed, headers ->> '${PERSON_HEADER}' as person
    from ${schema}.outbox where id = $1::text::uuid`;
  const [row] = await sql.query(typeRead, [parsed.messageId]);
  if (row === undefined) return { kind: 'not-found' };
  const kept = row['request'];
  const whole = typeof kept === 'string' ? restoredRequest(payload, JSON.parse(kept) as DeliveryRequest) : payload;
  const type = String(row['type']);
  const { sealed: keyId, person } = row;
  const plain = await serializePayload(event(type), whole);
  // What was sealed stays so: an edit by somebody without the key would lay it open.
  if (typeof keyId === 'string' && !sealing) throw new HoldfastError('PAYLOAD_SEALED', { type, keyId });
  const about = { id: parsed.messageId, type, person: typeof person === 'string' ? person : undefined };
  const text = typeof keyId === 'string' ? await sealPayload(sealing, plain, about) : plain;
  const call = `operator_edit($1::text::uuid, $2::text::jsonb, $3::text::int, $4::text::bigint, $5::text, $6::text)`;
  const params = [parsed.messageId, text, version ?? null, generation ?? null, by.actor, by.reason ?? null];
  return ask<Edited>(sql, schema, call, params);
}

/** Why nothing was changed: after the fact, for the answer only. */
async function notFailed(
  sql: SqlRunner,
  schema: string,
  messageId: string,
  handlers: readonly number[] | undefined,
): Promise<{ readonly kind: 'not-found' } | { readonly kind: 'not-failed'; readonly status: DeliveryStatus }> {
  const call = `operator_status($1::text::uuid, $2::text[]::smallint[])`;
  const [row] = await sql.query(`select ${schema}.${call} as status`, [messageId, handlers?.map(String) ?? null]);
  const status = row?.['status'] as DeliveryStatus | null | undefined;
  return status ? { kind: 'not-failed', status } : { kind: 'not-found' };
}

async function changeKey(
  sql: SqlRunner,
  schema: string,
  call: string,
  handler: string,
  params: readonly SqlParam[],
): Promise<number | Exclude<Awaited<ReturnType<typeof resolveHandler>>, number>> {
  const number = await resolveHandler(sql, schema, handler);
  if (typeof number !== 'number') return number;
  const text = `select ${schema}.${call} as count
    from ${schema}.delivery d where d.state = 2 and d.handler = $1::text::smallint and d.key = $2::text`;
  return Number((await sql.query(text, [number, ...params]))[0]?.['count']);
}

function checkHandlers(
  verb: string,
  handlers: readonly string[] | undefined,
  ofId: number | undefined,
  rerun: boolean,
): void {
  const check = new OptionCheck(`${verb}()`);
  if (handlers !== undefined && ofId !== undefined) {
    check.refuse('handlers', handlers, "leave it out with a dead letter's id, or pass the message's id");
  }
  if (handlers?.length === 0) check.refuse('handlers', handlers, 'name at least one handler, or leave it out');
  if (rerun && handlers === undefined) check.refuse('handlers', handlers, 'name the handlers that are to run again');
  check.done();
}
