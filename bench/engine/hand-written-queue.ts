import { randomUUID } from 'node:crypto';
import { poolOn, type BenchDatabase } from './bench-database.ts';
import { EFFECT_INSERT, inBulks, type Order, type Queue } from './queue.ts';

const UNITS = 32;
const BATCH = 1_024;

/**
 * The floor: what our way of reading and finishing costs as bare statements. One owner of all leases, a cursor for each
 * unit, and batches that check the leases, delete and write the history in one statement. No late rows, no order within a
 * key, no retries, no handler's context: nobody could use it, and nobody who keeps the same promises can be faster.
 */
export async function handWrittenQueue(database: BenchDatabase): Promise<Queue> {
  const pool = poolOn(database.url, 6);
  for (const statement of TABLES) await pool.query(statement);
  const owner = randomUUID();
  await pool.query('update hand.lease set owner = $1, epoch = epoch + 1', [owner]);
  const cursors = Array.from({ length: UNITS }, () => '0');
  const readNext = async (): Promise<Row[]> => {
    const { rows } = await pool.query<Row>({ name: 'hand-read', text: READ, values: [cursors, BATCH / UNITS] });
    for (const { unit, seq } of rows) cursors[unit] = seq;
    return rows;
  };
  return {
    name: 'hand-written statements',
    role: 'bare',
    fill: (count) => inBulks(count, (bulk) => pool.query({ name: 'hand-send', text: SEND, values: [rowsOf(bulk)] })),
    async drain(count, work) {
      const startedMs = performance.now();
      let settled = 0;
      const settling = new Set<Promise<void>>();
      for (let rows = await readNext(); rows.length > 0; rows = await readNext()) {
        const settle = async (): Promise<void> => {
          if (work === 'effect') for (const row of rows) await pool.query(EFFECT_INSERT, [row.key, row.payload.total]);
          const seqs = rows.map(({ seq }) => seq);
          const answer = await pool.query({
            name: 'hand-settle',
            text: SETTLE,
            values: [owner, seqs, rows.map(({ unit }) => unit)],
          });
          settled += answer.rowCount ?? 0;
        };
        // Two in flight, as many as one process has to keep one server busy.
        while (settling.size >= 2) await Promise.race(settling);
        const running = settle().finally(() => settling.delete(running));
        settling.add(running);
      }
      await Promise.all(settling);
      if (settled !== count) throw new Error(`the hand-written statements settled ${settled} of ${count}`);
      return performance.now() - startedMs;
    },
    async clear() {
      await pool.query('truncate hand.message, hand.delivered');
    },
    close: () => pool.end(),
  };
}

interface Row {
  readonly unit: number;
  readonly seq: string;
  readonly key: string;
  readonly payload: Order;
}

function rowsOf(bulk: readonly Order[]): string {
  return JSON.stringify(bulk.map((payload) => ({ id: randomUUID(), key: payload.orderId, payload })));
}

const COLUMNS =
  'id uuid not null, type text not null, key text, payload jsonb not null, created_at timestamptz not null default now()';

const TABLES = [
  'create schema hand',
  `create table hand.message (unit int not null, seq bigint generated always as identity, tx xid8 not null default pg_current_xact_id(), ${COLUMNS}, primary key (id))`,
  'create index on hand.message (unit, seq)',
  'create index on hand.message (tx)',
  `create table hand.delivered (${COLUMNS}, done_at timestamptz not null default now())`,
  'create index on hand.delivered (id)',
  'create table hand.lease (unit int primary key, owner uuid, epoch bigint not null default 0)',
  `insert into hand.lease (unit) select generate_series(0, ${UNITS - 1})`,
];

const SEND = `insert into hand.message (unit, id, type, key, payload)
  select (get_byte(h.hash, 0) * 256 + get_byte(h.hash, 1)) % ${UNITS}, m.id, 'order.placed', m.key, m.payload
  from json_to_recordset($1::text::json) as m (id uuid, key text, payload jsonb)
  cross join lateral (select sha256(convert_to(m.key, 'UTF8')) as hash) h`;

const READ = `select s.unit - 1 as unit, x.seq::text as seq, x.id, x.type, x.key, x.payload
  from unnest($1::text[]) with ordinality as s (cursor, unit)
  cross join lateral (select * from hand.message m where m.unit = s.unit - 1 and m.seq > s.cursor::bigint order by m.seq limit $2::int) x`;

const SETTLE = `with fence as materialized (select unit from hand.lease where owner = $1::uuid order by unit for share),
  gone as (delete from hand.message m using unnest($2::bigint[], $3::int[]) x (seq, unit) join fence using (unit)
    where m.unit = x.unit and m.seq = x.seq returning m.id, m.type, m.key, m.payload, m.created_at)
  insert into hand.delivered (id, type, key, payload, created_at) select * from gone`;
