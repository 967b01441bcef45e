import type { Deliveries } from 'holdfast/delivery';
import type { Pool } from 'pg';
import type { Board, BoardTable, Tone } from '../local-page/board-state.ts';

/** What the page is made from. */
export interface BoardParts {
  readonly pool: Pool;
  readonly deliveries: Pick<Deliveries, 'log' | 'dead'>;
  readonly commands: Board['commands'];
}

/** How often each effect happened. */
export interface Effects {
  readonly reminders: number;
  readonly memories: number;
  readonly files: number;
}

const SHOWN = 15;
const TONES: Readonly<Record<string, Tone>> = { DELIVERED: 'delivered', ERROR: 'waiting', FAILED: 'failed' };

/** What was published, delivered and done, as it is now. */
export async function readBoard({ pool, deliveries, commands }: BoardParts): Promise<Board> {
  const [effects, twice, attempts, dead] = await Promise.all([
    effectsOf(pool),
    twiceIn(pool),
    attemptTable(deliveries),
    deadTable(deliveries),
  ]);
  return {
    title: 'Signed jobs',
    verdict:
      twice > 0
        ? 'A mail was sent twice. That must never be.'
        : 'Nothing lost, nothing twice: each job had its effect once, however often it was delivered.',
    counts: [
      { name: 'Reminders sent', value: effects.reminders },
      { name: 'Memories stored', value: effects.memories },
      { name: 'Files indexed', value: effects.files },
      { name: 'Dead letters', value: dead.rows.length, isBad: dead.rows.length > 0 },
      { name: 'Sent twice', value: twice, isBad: twice > 0 },
    ],
    links: [
      { text: 'Operator console', href: '/console/' },
      { text: 'Deliveries', href: '/console/deliveries' },
      { text: 'Destinations', href: '/console/destinations' },
    ],
    tables: [attempts, dead],
    commands,
  };
}

/** Counts what the jobs did. */
export async function effectsOf(pool: Pool): Promise<Effects> {
  const { rows } = await pool.query<Effects>(`select
    (select count(*)::int from jobs_app.sent_reminder) as reminders,
    (select count(*)::int from jobs_app.memory) as memories,
    (select count(*)::int from jobs_app.indexed_file) as files`);
  return rows[0] ?? { reminders: 0, memories: 0, files: 0 };
}

async function twiceIn(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ twice: number }>(
    'select (count(*) - count(distinct reminder_id))::int as twice from jobs_app.sent_reminder',
  );
  return rows[0]?.twice ?? 0;
}

async function attemptTable({ log }: BoardParts['deliveries']): Promise<BoardTable> {
  const { items } = await log.list({ states: ['DELIVERED', 'ERROR', 'FAILED'] }, { limit: SHOWN });
  return {
    title: 'Attempts',
    columns: ['Route', 'Attempt', 'State', 'Answer', 'At', 'Message'],
    rows: items.map(({ request, attempt, state, responseStatus, error, at, messageId }) => [
      new URL(request.url).pathname,
      attempt ?? 1,
      { text: state.toLowerCase(), tone: TONES[state] ?? 'queued' },
      responseStatus ?? error ?? 'none',
      at.toLocaleTimeString('en-GB'),
      { text: 'Delivery', href: `/console/deliveries/${messageId}` },
    ]),
    empty: 'Nothing was delivered yet.',
  };
}

async function deadTable({ dead }: BoardParts['deliveries']): Promise<BoardTable> {
  const { items } = await dead.list({}, { limit: SHOWN });
  return {
    title: 'Dead letters',
    columns: ['Route', 'Answer', 'Why', 'At'],
    rows: items.map(({ request, responseStatus, responseBody, error, failedAt }) => [
      new URL(request.url).pathname,
      responseStatus ?? 'none',
      { text: error ?? responseBody ?? 'the job cannot be done', tone: 'failed' },
      failedAt.toLocaleTimeString('en-GB'),
    ]),
    empty: 'None.',
  };
}
