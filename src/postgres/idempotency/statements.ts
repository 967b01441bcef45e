import { IS_SAME_TRANSACTION } from '../driver/transaction-limits.ts';
import { CLOCK, epochMs } from '../schema/idempotency.ts';

/** The statements of the steps, each one round trip, for one schema. */
export interface IdempotencyStatements {
  readonly claim: string;
  readonly renew: string;
  readonly end: string;
  /** As `end`, and the transaction it is part of; nothing when the work has ended that by itself. */
  readonly endInside: string;
  /** Waits for whoever is about to change the record. */
  readonly settled: string;
  readonly transaction: string;
  readonly find: string;
  readonly erase: string;
  readonly reap: string;
}

/** Writes the statements for a quoted schema. */
export function idempotencyStatements(schema: string): IdempotencyStatements {
  const table = `${schema}.idempotency`;
  const end = `${schema}.idempotency_end(${texts(9)})`;
  return {
    claim: `select kind, n, reply_head, reply_body, finished, expires from ${schema}.idempotency_claim(${texts(8)})`,
    // Locked first: its time counts from when it is let in, however long it had to wait.
    renew: `with mine as materialized (select id from ${table}
        where id = $1::text and owner = $2::text and status = 'processing' and expires_at > ${CLOCK} for no key update)
      update ${table} i set lease_until = ${CLOCK} + ${milliseconds('$3')}, expires_at = ${CLOCK} + ${milliseconds('$4')},
        reap_at = least(i.reap_at, ${CLOCK} + ${milliseconds('$4')})
      from mine where i.id = mine.id returning i.id`,
    end: `select ${end} as answer`,
    endInside: `select ${end}, pg_current_xact_id()::text where ${IS_SAME_TRANSACTION}`,
    settled: `select owner, status from ${table} where id = $1::text for share`,
    transaction: `select pg_xact_status($1::text::xid8)`,
    find: `select id, domain, person, run, fingerprint, head, encode(body, 'base64') as body,
        case when status = 'processing' and lease_until <= ${CLOCK} then 'unknown' else status end as status,
        ${epochMs('created_at')} as created, ${epochMs('updated_at')} as updated, ${epochMs('expires_at')} as expires
      from ${table} where id = $1::text and expires_at > ${CLOCK}`,
    // In order, so that two of them wait for each other and do not deadlock. What has expired is forgotten too, and not counted.
    erase: `with found as materialized (
        select id from ${table} where person = $1::text order by id for no key update),
      erased as (update ${table} i set person = null, head = null, body = null, forget = i.status in ('processing', 'unknown')
        from found where i.id = found.id returning i.expires_at)
      select count(*)::int as n from erased where expires_at > ${CLOCK}`,
    // now(), because an index is not looked up by a clock that goes on. One that is locked is being claimed, or reaped by another.
    reap: `with expired as materialized (
        select id from ${table} where reap_at <= now() and expires_at <= now()
        order by reap_at limit $1::text::int for update skip locked),
      gone as (delete from ${table} i using expired where i.id = expired.id returning i.id)
      select count(*)::int as n from gone`,
  };
}

function texts(count: number): string {
  return Array.from({ length: count }, (_, at) => `$${at + 1}::text`).join(', ');
}

function milliseconds(parameter: string): string {
  return `${parameter}::text::float8 * interval '1 millisecond'`;
}
