import { OptionCheck } from '../../kernel/check-options.ts';
import { DEFAULT_SCHEMA, quotedSchema } from '../../postgres/schema-name.ts';
import { type SqlConnection, sqlRunner, type SqlRunner } from '../../postgres/sql-runner.ts';
import type { DeliveryError } from '../../relay/relay-store.ts';
import type { MemoryStore } from '../memory-store.ts';

/** A part of a database: a connection, a pool or a transaction of any known client, and the schema that is not `holdfast`. */
export interface SqlPlace {
  readonly pool: SqlConnection;
  readonly schema: string;
}

/** Where sent messages are looked for. In a transaction that is open, what it has sent is seen; elsewhere what is committed. */
export type SentPlace = MemoryStore | SqlPlace | SqlConnection;

/** How one handler stands to a message. */
export interface SentDelivery {
  /** Absent: no handler is known for the type. */
  readonly handler: string | undefined;
  readonly status: 'ready' | 'waiting' | 'failed' | 'delivered' | 'discarded' | 'cancelled';
  readonly attempts: number;
  readonly error: DeliveryError | undefined;
  /** Grows with each delivery that ends; absent before. */
  readonly ended: number | undefined;
}

/** A message that was sent, with its deliveries. */
export interface SentMessage {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly payload: unknown;
  readonly deliveries: readonly SentDelivery[];
}

interface Row extends SentDelivery, Omit<SentMessage, 'deliveries'> {}

/** All messages that are there, in the order of sending. */
export async function listSent(place: SentPlace): Promise<readonly SentMessage[]> {
  if (place === undefined || place === null) {
    const check = new OptionCheck('sent messages');
    check.refuse('place', place, 'pass memoryStore(), { pool, schema }, or a pool, connection or transaction');
    check.done();
  }
  const rows = isMemoryStore(place) ? memoryRows(place) : await sqlRows(place);
  const byId = new Map<string, { readonly message: Row; readonly deliveries: SentDelivery[] }>();
  for (const row of rows) {
    const known = byId.get(row.id) ?? { message: row, deliveries: [] };
    const { handler, status, attempts, error, ended } = row;
    known.deliveries.push({ handler, status, attempts, error, ended });
    byId.set(row.id, known);
  }
  return [...byId.values()].map(({ message: { id, type, key, payload }, deliveries }) => ({
    id,
    type,
    key,
    payload,
    deliveries,
  }));
}

function isMemoryStore(place: SentPlace): place is MemoryStore {
  return 'deadLetters' in place && 'recorded' in place;
}

function memoryRows(store: MemoryStore): readonly Row[] {
  const open = store.deliveries().map((row) => ({ row, status: row.state, ended: undefined }));
  const finished = store.delivered().map((row, ended) => ({ row, status: row.outcome, ended }));
  return [...finished, ...open]
    .sort((a, b) => a.row.seq - b.row.seq)
    .map(({ row: { id, type, key, payload, handler, attempts, error }, status, ended }) => ({
      id,
      type,
      key,
      payload,
      handler,
      attempts,
      error,
      status,
      ended,
    }));
}

async function sqlRows(place: SqlPlace | SqlConnection): Promise<readonly Row[]> {
  const { sql, schema } = sqlPlace(place);
  const rows = (await sql.query(listStatement(schema))) as readonly Readonly<Record<string, string | null>>[];
  return rows.map(({ id, type, key, payload, handler, status, attempts, error, ended }) => ({
    id: id ?? '',
    type: type ?? '',
    key: key ?? undefined,
    payload: JSON.parse(payload ?? 'null') as unknown,
    handler: handler ?? undefined,
    status: status as SentDelivery['status'],
    attempts: Number(attempts),
    error: (JSON.parse(error ?? 'null') as DeliveryError | null) ?? undefined,
    ended: ended === null ? undefined : Number(ended),
  }));
}

function sqlPlace(place: SqlPlace | SqlConnection): { readonly sql: SqlRunner; readonly schema: string } {
  const isPlace = typeof place === 'object' && 'schema' in place && 'pool' in place;
  const [connection, name] = isPlace ? [place.pool, place.schema] : [place, DEFAULT_SCHEMA];
  return { sql: sqlRunner(connection), schema: quotedSchema('sent messages', name) };
}

/** Message ids grow with time, to the millisecond; within one, `created_at` and then the place in line tell more. */
function listStatement(schema: string): string {
  const shown = `d.id::text as id, d.type::text as type, d.key::text as key, d.payload::text as payload, h.name::text as handler,
    d.attempts::text as attempts, d.error::text as error, d.created_at`;
  return `select id, type, key, payload, handler, attempts, error, status, ended from (
    select ${shown}, (array['ready', 'waiting', 'failed'])[d.state + 1] as status, null::text as ended, d.seq
      from ${schema}.delivery d left join ${schema}.handler h on h.id = d.handler
    union all
    select ${shown}, (array['delivered', 'discarded', 'cancelled'])[d.outcome + 1],
      (extract(epoch from d.done_at) * 1000000)::bigint::text, null
      from ${schema}.delivered d left join ${schema}.handler h on h.id = d.handler) all_of
    order by created_at, id, seq nulls first`;
}
