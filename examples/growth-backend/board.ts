import type { Health } from 'holdfast/http';
import type { Operator } from 'holdfast/operator';
import type { Board, BoardTable, Cell, Tone } from '../local-page/board-state.ts';
import { deadLetterTable } from '../local-page/operator-console.ts';
import type { ServicesHealth } from './api/service-health.ts';
import { PARTNERS } from './settings.ts';
import type { Growth } from './start-growth.ts';
import { MODULES } from './workflow/run-module.ts';

/** What the page is made from. */
export interface BoardParts {
  readonly growth: Pick<Growth, 'client' | 'query' | 'settings'>;
  readonly operator: Operator;
  readonly commands: Board['commands'];
}

const SHOWN = 10;
const STATES: Readonly<Record<string, Tone>> = {
  idle: 'queued',
  queued: 'queued',
  running: 'running',
  retry_wait: 'waiting',
  replaying: 'running',
  done: 'delivered',
  blocked: 'failed',
  dlq: 'failed',
  failed: 'failed',
};
const HEALTH: Readonly<Record<Health['kind'], Tone>> = { up: 'delivered', unavailable: 'failed', retryable: 'waiting' };

/** Runs, services, events and dead letters, as they are now. */
export async function readBoard({ growth, operator, commands }: BoardParts): Promise<Board> {
  const [counts, services, runs, events, dead] = await Promise.all([
    readCounts(growth),
    servicesTable(growth),
    runsTable(growth),
    eventsTable(growth),
    deadLetterTable(operator, 'projections', '/console/'),
  ]);
  return {
    title: 'Growth backend',
    verdict: verdictOf(counts),
    counts: [
      { name: 'Runs', value: counts.runs },
      { name: 'Modules done', value: counts.done },
      { name: 'Modules that failed', value: counts.failed, isBad: counts.failed > 0 },
      { name: 'Events recorded', value: counts.events },
      { name: 'Dead letters', value: counts.dead, isBad: counts.dead > 0 },
    ],
    links: [
      { text: 'Operator console', href: '/console/' },
      { text: 'Commands', href: '/console/commands' },
      { text: 'Trace one action', href: '/console/trace' },
      ...PARTNERS.map((name) => ({
        text: `Ledger of ${name}`,
        href: `${growth.settings.partners[name].origin}/__ledger`,
      })),
    ],
    tables: [runs, services, dead, events],
    commands,
  };
}

/** Lines for a second terminal, in the order in which they make sense. */
export function commandsOf(setUp: string): Board['commands'] {
  const api = `curl -s -H "authorization: Bearer $A2A_ALLOWED_KEY"`;
  const asAda = `${api} -H 'x-growqr-user: user_ada' -X POST`;
  return [
    { about: 'First, once in each terminal', command: setUp },
    { about: 'How the other services are', command: `${api} $GROWTH_API/services/health; echo` },
    {
      about: 'A workflow run with three modules',
      command: `RUN=$(${asAda} $GROWTH_API/workflow-runs | grep -oE 'run_[0-9a-f-]+' | head -1); echo $RUN`,
    },
    {
      about: 'Ask for a module; again: it is the same command, and the service is called once',
      command: `${asAda} $GROWTH_API/workflow-runs/$RUN/modules/interview/run; echo`,
    },
    { about: 'What became of it', command: 'node dist/cli/main.js run:show $RUN' },
  ];
}

interface Counts {
  readonly runs: number;
  readonly done: number;
  readonly failed: number;
  readonly open: number;
  readonly events: number;
  readonly dead: number;
}

async function readCounts({ query }: BoardParts['growth']): Promise<Counts> {
  const [counts] = await query<Counts>(`select
    (select count(*)::int from growth.workflow_run) as runs,
    count(*) filter (where state = 'done')::int as done,
    count(*) filter (where state in ('blocked', 'dlq', 'failed'))::int as failed,
    count(*) filter (where state in ('queued', 'running', 'retry_wait', 'replaying'))::int as open,
    (select count(*)::int from growth.grow_event) as events,
    (select count(*)::int from growth.grow_event_dlq where status = 'pending') as dead
    from holdfast.command where service = 'workflows'`);
  return counts ?? { runs: 0, done: 0, failed: 0, open: 0, events: 0, dead: 0 };
}

function verdictOf({ runs, failed, open, dead }: Counts): string {
  if (dead > 0) return dead === 1 ? '1 dead letter needs you.' : `${dead} dead letters need you.`;
  if (failed > 0) return failed === 1 ? '1 module needs you.' : `${failed} modules need you.`;
  if (runs === 0) return 'Nothing came in yet. Make a run with the commands below.';
  if (open > 0) return open === 1 ? '1 module is under way.' : `${open} modules are under way.`;
  return 'Nothing lost, nothing twice: all that was asked for is done.';
}

/** As the API says it: `GET /services/health`. */
async function servicesTable({ client }: BoardParts['growth']): Promise<BoardTable> {
  const services = await client.servicesHealth().catch(() => undefined);
  return {
    title: 'Services it calls',
    columns: ['Service', 'Is', 'Why'],
    rows: services === undefined ? [] : PARTNERS.map((name) => healthRow(services, name)),
    empty: 'The API does not answer; it is started again by itself.',
  };
}

function healthRow(services: ServicesHealth, name: keyof ServicesHealth): readonly Cell[] {
  const health = services[name];
  const about = [health.status === undefined ? '' : `status ${health.status}`];
  if (health.kind !== 'up') about.unshift(health.reason);
  return [name, { text: health.kind, tone: HEALTH[health.kind] }, about.filter((text) => text !== '').join(', ')];
}

async function runsTable({ query }: BoardParts['growth']): Promise<BoardTable> {
  const rows = await query<{ run: string; userId: string; states: Readonly<Record<string, string>> }>(
    `select r.run_id as run, r.user_id as "userId",
       coalesce((select jsonb_object_agg(c.module, c.state order by c.created_at) from holdfast.command c
         where c.service = 'workflows' and c.target = r.run_id), '{}') as states
     from growth.workflow_run r order by r.created_at desc limit ${SHOWN}`,
  );
  return {
    title: 'Workflow runs',
    columns: ['Run', 'User', ...MODULES],
    rows: rows.map(({ run, userId, states }) => {
      const link = { text: run.slice(0, 12), href: `/console/commands?target=${encodeURIComponent(run)}` };
      const cells: readonly Cell[] = MODULES.map((module) => stateCell(states[module]));
      return ([link, userId] as readonly Cell[]).concat(cells);
    }),
    empty: 'No runs yet.',
  };
}

function stateCell(state = 'idle'): Cell {
  return { text: state, tone: STATES[state] ?? 'queued' };
}

async function eventsTable({ query }: BoardParts['growth']): Promise<BoardTable> {
  const rows = await query<{ type: string; source: string; userId: string; id: string; runs: string; at: Date }>(
    `select e.type, e.source, e.user_id as "userId", e.event_id as id, e.recorded_at as at,
       (select string_agg(p.projector || ' ' || p.status, ', ' order by p.projector)
        from growth.grow_event_projector_runs p where p.event_id = e.event_id) as runs
     from growth.grow_event e order by e.recorded_at desc limit ${SHOWN}`,
  );
  return {
    title: 'Events, and their projectors',
    columns: ['Event', 'From', 'User', 'Projectors', 'At'],
    rows: rows.map(({ type, source, userId, id, runs, at }) => [
      { text: type, href: `/console/messages/${id}` },
      source,
      userId,
      runs ?? '',
      at.toLocaleTimeString('en-GB'),
    ]),
    empty: 'No events yet: a module that is done sends one.',
  };
}
