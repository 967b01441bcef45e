import type { Operator } from 'holdfast/operator';
import type { Pool } from 'pg';
import type { Board, BoardTable, Tone } from '../local-page/board-state.ts';
import { deadLetterTable } from '../local-page/operator-console.ts';
import { secondTerminal } from '../local-processes/second-terminal.ts';

/** What the page is made from. */
export interface BoardParts {
  readonly pool: Pool;
  readonly operator: Operator;
  readonly commands: Board['commands'];
}

const SHOWN = 15;
const TONES: Readonly<Record<string, Tone>> = {
  pending: 'queued',
  in_flight: 'running',
  delivered: 'delivered',
  failed: 'failed',
};

/** The outbox, the ledger and the dead letters as they are now. */
export async function readBoard({ pool, operator, commands }: BoardParts): Promise<Board> {
  const [counts, events, runs, dead] = await Promise.all([
    readCounts(pool),
    readEvents(pool),
    readRuns(pool),
    deadLetterTable(operator, 'billing', '/console/'),
  ]);
  return {
    title: 'Event substrate',
    verdict: verdictOf(counts),
    counts: [
      { name: 'Invoices', value: counts.invoices },
      { name: 'Delivered', value: counts.delivered },
      { name: 'Still to do', value: counts.open },
      { name: 'Dead letters', value: counts.failed, isBad: counts.failed > 0 },
      { name: 'Booked twice', value: counts.twice, isBad: counts.twice > 0 },
    ],
    links: [
      { text: 'Operator console', href: '/console/' },
      { text: 'Dead letters', href: '/console/dead-letters' },
    ],
    tables: [events, runs, dead],
    commands,
  };
}

/** Lines for a second terminal, in the order in which they make sense. */
export function commandsOf(databaseUrl: string | undefined): Board['commands'] {
  const main = 'node examples/event-substrate/main.ts';
  return [
    { about: 'First, once in each terminal', command: secondTerminal({ DATABASE_URL: databaseUrl }) },
    { about: 'Issue an invoice', command: `${main} send --invoice inv_1` },
    {
      about: 'Issue one whose tax code generation 1 does not know: a dead letter',
      command: `EVENT=$(${main} send --invoice inv_2 --tax-code GB20); echo $EVENT`,
    },
    {
      about: 'Deploy the fixed code beside it; it stays, so give it a terminal of its own',
      command: `${main} worker --generation 2`,
    },
    {
      about: 'Replay the dead letter into the new generation',
      command: `node dist/cli/main.js dlq:replay --id $EVENT --generation 2`,
    },
  ];
}

interface Counts {
  readonly invoices: number;
  readonly delivered: number;
  readonly open: number;
  readonly failed: number;
  readonly twice: number;
}

async function readCounts(pool: Pool): Promise<Counts> {
  const { rows } = await pool.query<Counts>(`select
    (select count(*)::int from billing.invoice) as invoices,
    count(*) filter (where status = 'delivered')::int as delivered,
    count(*) filter (where status in ('pending', 'in_flight'))::int as open,
    count(*) filter (where status = 'failed' and deleted_at is null)::int as failed,
    (select count(*) - count(distinct invoice_id) from billing.ledger_entry)::int as twice
    from holdfast.outbox where source = 'billing'`);
  return rows[0] ?? { invoices: 0, delivered: 0, open: 0, failed: 0, twice: 0 };
}

function verdictOf({ invoices, open, failed, twice }: Counts): string {
  if (twice > 0) return 'An invoice was booked twice. That must never be.';
  if (invoices === 0) return 'Nothing came in yet. Issue an invoice with the commands below.';
  if (failed > 0) return failed === 1 ? '1 dead letter needs you.' : `${failed} dead letters need you.`;
  if (open > 0) return open === 1 ? '1 event is on its way.' : `${open} events are on their way.`;
  return 'Nothing lost, nothing twice: every invoice was booked once and its customer notified once.';
}

async function readEvents(pool: Pool): Promise<BoardTable> {
  const { rows } = await pool.query<{ id: string; invoice: string; generation: number; status: string; at: Date }>(
    `select id, aggregate_id as invoice, generation, status, created_at as at from holdfast.outbox
     where source = 'billing' order by created_at desc limit ${SHOWN}`,
  );
  return {
    title: 'What came in',
    columns: ['Invoice', 'Generation', 'Status', 'At', 'Event'],
    rows: rows.map(({ id, invoice, generation, status, at }) => [
      invoice,
      generation,
      { text: status, tone: TONES[status] ?? 'queued' },
      at.toLocaleTimeString('en-GB'),
      { text: 'Message', href: `/console/messages/${id}` },
    ]),
    empty: 'No invoices yet.',
  };
}

async function readRuns(pool: Pool): Promise<BoardTable> {
  const { rows } = await pool.query<{
    invoice: string;
    handler: string;
    status: string;
    attempt: number;
    error: string;
  }>(
    `select o.aggregate_id as invoice, r.projector as handler, r.status, r.attempt, r.error
     from holdfast.run_log r join holdfast.outbox o on o.id = r.event_id
     where r.service = 'billing' order by coalesce(r.completed_at, r.started_at) desc nulls last limit ${SHOWN}`,
  );
  return {
    title: 'What was handled',
    columns: ['Invoice', 'Handler', 'Status', 'Attempts', 'Last error'],
    rows: rows.map(({ invoice, handler, status, attempt, error }) => [
      invoice,
      handler,
      { text: status, tone: TONES[status] ?? 'waiting' },
      attempt,
      error ?? '',
    ]),
    empty: 'Nothing yet: two handlers take each event, one books it and one notifies the customer.',
  };
}
