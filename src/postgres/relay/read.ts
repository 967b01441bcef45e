import type {
  Delivery,
  FetchTarget,
  Holder,
  ReadAnswer,
  ReadRequest,
  RelaySession,
  Snapshot,
  UnitLoad,
} from '../../relay/relay-store.ts';
import type { Link, Row } from '../driver/driver.ts';
import { decodeDelivery, DELIVERY_WIDTH, deliveryColumns } from './delivery-row.ts';
import { numberList } from './number-list.ts';

/** How many rows of open transactions are looked through in one read. Above it the rest is left for the next. */
const LATE_LIMIT = 10_000;

/** Above every transaction there can be. */
const LAST_XID8 = '18446744073709551615';

// What a row of the read statement is.
const SNAPSHOT = 0;
const STREAM = 1;
const LATE = 2;
const DUE = 3;
const NEXT_DUE = 4;
const POKE = 5;
const LATE_SEEN = 6;
const LAST_SEQ = 7;

/** The reading half of a session, over one connection: one reader for each process, never two reads at once. */
export function readActs(link: Link, schema: string): Pick<RelaySession<never>, 'load' | 'read' | 'fetch'> {
  const { load, read, fetch, ahead } = readStatements(schema);
  return {
    load: async (units) => decodeLoads(await link.query(load, [numberList(units)])),
    read: async (request) => {
      const { units, since, dueLimit } = request;
      const rows = await link.query(read, [
        numberList(units.map(({ unit }) => unit)),
        numberList(units.map(({ after }) => after)),
        numberList(units.map(({ limit }) => limit)),
        since?.xip ?? [],
        since?.xmax ?? null,
        numberList(units.map(({ withoutDue }) => (withoutDue ? 0 : dueLimit))),
        `{${units.map(({ skipsBlocked }) => skipsBlocked).join(',')}}`,
      ]);
      return decodeRead(rows, request);
    },
    fetch: async (wanted, unit, isAhead) => {
      const rows = await link.query(isAhead ? ahead : fetch, [unit, JSON.stringify(wanted.map(keyOf))]);
      const found = rows.map((row) => decodeDelivery(row, 1, Number(row[0]) === 0 ? 'ready' : 'waiting'));
      return found.sort((a, b) => a.seq - b.seq);
    },
  };
}

function keyOf({ seq, state, version }: FetchTarget): object {
  return { seq, state: state === 'ready' ? 0 : 1, version };
}

/** The statements of reading, for one schema. The plans of all are tested on a large table. */
export function readStatements(schema: string): Readonly<Record<'load' | 'read' | 'fetch' | 'ahead', string>> {
  return {
    load: `select * from ${schema}.delivery_load($1::text)`,
    read: `select * from ${schema}.delivery_read($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text)`,
    fetch: fetchStatement(schema, 'always'),
    ahead: fetchStatement(schema, 'small'),
  };
}

function fetchStatement(schema: string, payload: 'always' | 'small'): string {
  return `select d.* from json_to_recordset($2::text::json) as x (seq bigint, state smallint, version int)
      cross join lateral (select d.state, ${deliveryColumns(payload)} from ${schema}.delivery d
        where d.unit = $1::text::int and d.state = x.state and d.seq = x.seq and d.version = x.version limit 1) d`;
}

/**
 * The body of the function that loads: what holds the keys of units, and nothing else. "Order by", so that the planner looks up each
 * unit by itself: where the table was analysed while nothing held, it would read all of it.
 */
export function loadStatement(schema: string): string {
  return `select u.unit, coalesce(p.n, 0)::bigint, h.key, h.seq, h.state from unnest($1::text::int[]) as u (unit)
      left join ${schema}.poke p on p.unit = u.unit
      left join lateral (
        select d.key, d.seq, d.state from ${schema}.delivery d where d.unit = u.unit and d.holds order by d.key) h on true`;
}

/**
 * The body of the function that reads. One statement, so that everything is of one snapshot, and the snapshot is told. Each branch
 * is a lateral with order and limit: written as one condition with "or", the planner scans a whole index (120 ms instead of
 * 0.5 ms on 500,000 rows). `ready` and `dead` are no constants, or the planner may take an index of such rows alone: where hardly
 * any were there when the table was analysed, it reads all of that for each unit (10 s when a million had come since).
 */
export function readStatement(schema: string): string {
  const columns = deliveryColumns('small');
  return `with s as materialized (
      select *, 0::smallint as ready, 2::smallint as dead
      from unnest($1::text::int[], $2::text::bigint[], $3::text::int[], $6::text::int[], $7::text::boolean[])
      as s (unit, after, lim, due, skips)),
    ${lateRows(schema)}
    select ${SNAPSHOT} as kind, null::int as unit, null::bigint as seq, null::uuid as id, pg_current_snapshot()::text as type,
      pg_postmaster_start_time()::text as key, null::text as payload, null::text as source, null::bigint as created, null::text as traceparent,
      null::text as rest
    union all
    select ${STREAM}, d.* from s cross join lateral (
      select ${columns} from ${schema}.delivery d where d.unit = s.unit and d.state = s.ready and d.seq > s.after
        and d.tx < (select below from seen) and (not s.skips or not exists (
          select from ${schema}.delivery h where h.unit = d.unit and h.key = d.key and h.holds and h.state = s.dead offset 0))
        order by d.seq limit s.lim) d
    union all
    select ${LATE}, d.* from late l join s on s.unit = l.unit and l.seq <= s.after cross join lateral (
      select ${columns} from ${schema}.delivery d where d.unit = l.unit and d.state = s.ready and d.seq = l.seq and d.tx = l.tx
      limit 1) d
    union all
    select ${LATE_SEEN}, most::int, begun, null, first_tx::text, last_tx::text${nulls(DELIVERY_WIDTH - 5)} from seen
    union all
    (select ${DUE}, d.unit, d.seq, d.id, d.type, d.key, d.payload, d.source, d.created, d.traceparent, d.rest
    from s cross join lateral (
      select d.due_at, ${columns} from ${schema}.delivery d
      where d.unit = s.unit and d.state = 1 and d.due_at <= statement_timestamp()
      order by d.due_at limit s.due) d (due_at, unit, seq, id, type, key, payload, source, created, traceparent, rest)
    order by d.due_at limit (select max(due) from s))
    union all
    select ${NEXT_DUE}, null, ceil(date_part('epoch', min(d.due_at) - statement_timestamp()) * 1000)::bigint
      ${nulls(DELIVERY_WIDTH - 2)}
    from s cross join lateral (
      select d.due_at from ${schema}.delivery d where d.unit = s.unit and d.state = 1 and d.due_at > statement_timestamp()
      order by d.due_at limit 1) d
    union all
    select ${LAST_SEQ}, s.unit, d.seq${nulls(DELIVERY_WIDTH - 2)} from s cross join lateral (
      select d.seq from ${schema}.delivery d where d.unit = s.unit and d.state = s.ready and d.seq > s.after
        and d.tx < (select below from seen) order by d.seq desc limit 1) d where s.skips
    union all
    select ${POKE}, p.unit, p.n${nulls(DELIVERY_WIDTH - 2)} from s join ${schema}.poke p on p.unit = s.unit where p.n <> 0`;
}

/**
 * Rows that became visible below a cursor are of transactions that were open in the snapshot before ($4), or not in it yet ($5
 * and above: its xmax is the last completed transaction + 1, so an open one may be higher). Those still open are left out.
 * Where not all of the second kind were looked at, the read is as of the last transaction looked at: its rows and those above, also
 * new ones, are left to the next read, or that could not tell which of them were read. "Between" one and
 * the same, because with "=" there is nothing to order by, and a transaction of many rows makes the planner scan the table.
 */
function lateRows(schema: string): string {
  return `ended as materialized (
      select d.tx, d.unit, d.seq from unnest($4::text[]::xid8[]) as x (tx)
      cross join lateral (select d.tx, d.unit, d.seq from ${schema}.delivery d where d.tx between x.tx and x.tx
        and d.state = 0 order by d.tx limit ${LATE_LIMIT + 1}) d
      where pg_visible_in_snapshot(x.tx, pg_current_snapshot())),
    begun as materialized (
      select d.tx, d.unit, d.seq from ${schema}.delivery d where d.tx >= $5::text::xid8 and d.state = 0
      order by d.tx limit ${LATE_LIMIT + 1}),
    counted as materialized (
      select coalesce((select max(n) from (select count(*) as n from ended group by tx) e), 0) as most,
        (select count(*) from begun) as begun,
        (select tx from begun order by tx limit 1) as first_tx,
        (select tx from begun order by tx desc limit 1) as last_tx),
    seen as materialized (
      select *, case when begun > ${LATE_LIMIT} and first_tx <> last_tx then last_tx else '${LAST_XID8}'::xid8 end as below
      from counted),
    late as materialized (
      select tx, unit, seq from ended
      union all
      select tx, unit, seq from begun where tx < (select below from seen))`;
}

function nulls(count: number): string {
  return ', null'.repeat(count);
}

function decodeLoads(rows: readonly Row[]): readonly UnitLoad[] {
  const loads = new Map<number, UnitLoad & { readonly holders: Holder[] }>();
  for (const [unitValue, poke, key, seq, state] of rows) {
    const unit = Number(unitValue);
    const load = loads.get(unit) ?? { unit, poke: Number(poke), holders: [] };
    loads.set(unit, load);
    if (key !== null) load.holders.push({ key: key as string, seq: Number(seq), isDead: Number(state) === 2 });
  }
  return [...loads.values()];
}

interface ReadParts {
  readonly ready: Delivery[];
  readonly late: Delivery[];
  readonly due: Delivery[];
  readonly pokes: Map<number, number>;
  readonly lastSeqs: Map<number, number>;
  snapshot: Snapshot;
  isLateOverflow: boolean;
  nextDueInMs: number | undefined;
  /** Set when not all rows above the last snapshot's xmax were looked at: those below this transaction were. */
  seenBelow: string | undefined;
}

function decodeRead(rows: readonly Row[], request: ReadRequest): ReadAnswer {
  const parts: ReadParts = {
    ready: [],
    late: [],
    due: [],
    pokes: new Map(),
    lastSeqs: new Map(),
    snapshot: { server: '', xmin: '0', xmax: '0', xip: [] },
    isLateOverflow: false,
    nextDueInMs: undefined,
    seenBelow: undefined,
  };
  for (const row of rows) decodeInto(parts, row);
  const { due, pokes, lastSeqs, isLateOverflow } = parts;
  const isCut = due.length >= request.dueLimit;
  return {
    snapshot: parts.seenBelow === undefined ? parts.snapshot : asOf(parts.snapshot, parts.seenBelow),
    // Rows that came late stand before new ones of their key: they are sorted in.
    ready: [...parts.ready, ...parts.late].sort((a, b) => a.seq - b.seq),
    isLateOverflow,
    due,
    nextDueInMs: isCut && due.length > 0 ? 0 : parts.nextDueInMs,
    pokes,
    lastSeqs,
  };
}

function decodeInto(parts: ReadParts, row: Row): void {
  switch (Number(row[0])) {
    case STREAM:
      parts.ready.push(decodeDelivery(row, 1, 'ready'));
      return;
    case LATE:
      parts.late.push(decodeDelivery(row, 1, 'ready'));
      return;
    case DUE:
      parts.due.push(decodeDelivery(row, 1, 'waiting'));
      return;
    case NEXT_DUE:
      if (row[2] !== null) parts.nextDueInMs = Number(row[2]);
      return;
    case POKE:
      parts.pokes.set(Number(row[1]), Number(row[2]));
      return;
    case LAST_SEQ:
      parts.lastSeqs.set(Number(row[1]), Number(row[2]));
      return;
    case LATE_SEEN:
      judgeLate(parts, row);
      return;
    default:
      parts.snapshot = parseSnapshot(row[4] as string, row[5] as string);
  }
}

/**
 * More rows than the limit came since the last read. Usually they are of many transactions, all with new rows: then the next
 * read goes on from the last one looked at. Of one transaction alone, the cursors tell nothing any more.
 */
function judgeLate(parts: ReadParts, [, most, begun, , first, last]: Row): void {
  if (Number(most) > LATE_LIMIT) parts.isLateOverflow = true;
  if (Number(begun) <= LATE_LIMIT) return;
  if (first === last) parts.isLateOverflow = true;
  else parts.seenBelow = last as string;
}

/** The snapshot as it was for transactions below `xmax`: every row of those has been seen, or will be told. */
function asOf({ server, xmin, xip }: Snapshot, xmax: string): Snapshot {
  const limit = BigInt(xmax);
  const open = xip.filter((tx) => BigInt(tx) < limit);
  return { server, xmin: BigInt(xmin) < limit ? xmin : xmax, xmax, xip: open };
}

function parseSnapshot(text: string, server: string): Snapshot {
  const [xmin = '0', xmax = '0', xip = ''] = text.split(':');
  return { server, xmin, xmax, xip: xip === '' ? [] : xip.split(',') };
}
