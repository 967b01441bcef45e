import type { Operator } from 'holdfast/operator';
import type { Pool } from 'pg';
import type { Board, BoardTable, Cell } from '../local-page/board-state.ts';
import { deadLetterTable } from '../local-page/operator-console.ts';
import { type ProcessCounts, readProcessCounts } from './process-counts.ts';
import type { Span } from './traces/span.ts';
import type { TraceCollector } from './traces/trace-collector.ts';

/** A process of the example, and where it shows its metrics. */
export interface MeasuredProcess {
  readonly name: string;
  readonly metricsUrl: string;
}

/** A service whose database has a console. */
interface OperatedService {
  readonly name: string;
  readonly operator: Operator;
  /** Such as `/console/orders/`. */
  readonly consolePath: string;
}

/** What the page is made from. */
export interface BoardParts {
  readonly pool: Pool;
  readonly processes: readonly MeasuredProcess[];
  readonly services: readonly OperatedService[];
  /** Absent where traces go elsewhere. */
  readonly collector: Pick<TraceCollector, 'url' | 'traces'> | undefined;
  readonly commands: Board['commands'];
}

const SHOWN = 10;

/** Requests, budgets, counts and dead letters, as they are now. */
export async function readBoard({ pool, processes, services, collector, commands }: BoardParts): Promise<Board> {
  const [counts, budgets, dead] = await Promise.all([
    Promise.all(processes.map(readProcess)),
    budgetTable(pool),
    Promise.all(services.map(({ name, operator, consolePath }) => deadLetterTable(operator, name, consolePath))),
  ]);
  const deadLetters = dead.reduce((sum, { rows }) => sum + rows.length, 0);
  const total = (name: keyof ProcessCounts): number => counts.reduce((sum, [, one]) => sum + (one?.[name] ?? 0), 0);
  return {
    title: 'Budget services',
    verdict: verdictOf(budgets.rows.length, total('pending'), deadLetters),
    counts: [
      { name: 'Published', value: total('published') },
      { name: 'Handled', value: total('handled') },
      { name: 'Still to do', value: total('pending') },
      { name: 'Requests answered again', value: total('replayed') },
      { name: 'Messages that came twice', value: total('duplicates') },
      { name: 'Dead letters', value: deadLetters, isBad: deadLetters > 0 },
    ],
    links: [
      ...services.map(({ name, consolePath }) => ({ text: `Console of ${name}`, href: consolePath })),
      ...(collector === undefined ? [] : [{ text: 'Traces', href: `${collector.url}/traces` }]),
      ...processes.map(({ name, metricsUrl }) => ({ text: `Metrics of ${name}`, href: metricsUrl })),
    ],
    tables: [countTable(counts), traceTable(collector), budgets, ...dead],
    commands,
  };
}

async function readProcess({
  name,
  metricsUrl,
}: MeasuredProcess): Promise<readonly [string, ProcessCounts | undefined]> {
  return [name, await readProcessCounts(metricsUrl)];
}

function verdictOf(budgets: number, pending: number, deadLetters: number): string {
  if (deadLetters > 0) return deadLetters === 1 ? '1 dead letter needs you.' : `${deadLetters} dead letters need you.`;
  if (pending > 0) return pending === 1 ? '1 message is on its way.' : `${pending} messages are on their way.`;
  if (budgets === 0) return 'Nothing came in yet. Place an order with the commands below.';
  return 'Nothing lost, nothing twice: every request is in the sum of its budget once.';
}

function countTable(counts: readonly (readonly [string, ProcessCounts | undefined])[]): BoardTable {
  return {
    title: 'Processes, by their metrics',
    columns: ['Process', 'Published', 'Pending', 'Handled', 'Tried again', 'Came twice', 'Answered again', 'Dead'],
    rows: counts.map(([name, one]): readonly Cell[] =>
      one === undefined
        ? [name, { text: 'does not answer', tone: 'failed' }]
        : [
            name,
            one.published,
            one.pending,
            one.handled,
            one.retried,
            one.duplicates,
            one.replayed,
            one.dead > 0 ? { text: String(one.dead), tone: 'failed' } : 0,
          ],
    ),
    empty: 'No process.',
  };
}

/** The newest requests, each with all that followed from it. */
function traceTable(collector: BoardParts['collector']): BoardTable {
  const traces = [...(collector?.traces ?? [])].slice(-SHOWN).toReversed();
  return {
    title: 'What came in, and what followed from it',
    columns: ['Request', 'At', 'Took', 'Processes', 'Spans', 'Trace'],
    rows: traces.map(([id, spans]) => traceRow(spans, `${collector?.url}/traces/${id}`)),
    empty: collector === undefined ? 'Traces go to OTEL_EXPORTER_OTLP_ENDPOINT.' : 'No traces yet.',
  };
}

function traceRow(spans: readonly Span[], href: string): readonly Cell[] {
  const sorted = spans.toSorted((a, b) => a.startMs - b.startMs);
  const [first] = sorted;
  const startMs = first?.startMs ?? 0;
  const endMs = Math.max(startMs, ...sorted.map((span) => span.startMs + span.durationMs));
  return [
    first?.name ?? '',
    new Date(startMs).toLocaleTimeString('en-GB'),
    `${Math.round(endMs - startMs)} ms`,
    [...new Set(sorted.map(({ service }) => service))].join(', '),
    sorted.length,
    { text: 'Tree', href },
  ];
}

async function budgetTable(pool: Pool): Promise<BoardTable> {
  const { rows } = await pool.query<{ budget: string; cents: string; transactions: string }>(
    `select budget_id as budget, spent_cents as cents, transactions from budget_transactions.budget
     order by budget_id limit ${SHOWN}`,
  );
  return {
    title: 'Budgets',
    columns: ['Budget', 'Spent', 'Transactions'],
    rows: rows.map(({ budget, cents, transactions }) => [budget, (Number(cents) / 100).toFixed(2), transactions]),
    empty: 'None yet: the last service adds up what was spent.',
  };
}
