import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { CrashDatabase } from './crash-database.ts';
import { AWKWARD_HANDLERS, SCHEMA } from './crash-events.ts';
import { Crew, startSender, until, type Member } from './crew.ts';
import { misdeedOf } from './misdeeds.ts';
import type { LastWord } from './operator-process.ts';
import { privatePostgres, type PrivatePostgres } from './private-postgres.ts';
import { haltSomeone, isReady } from './storm.ts';

const WORKERS = 3;
const LEASE_MS = 2_000;
// A takeover, a killed neighbour and the search for the guilty one of a batch start a message again; 30 s of four starts a second are more.
const MOST_STARTS = 120;

/** How much a storm of misbehaving handlers does. */
export interface AwkwardPlan {
  readonly messages: number;
  readonly keys: number;
  /** In each round one thing is done to processes or to the database: `FAULTS`, in turn. */
  readonly rounds: number;
}

/** What must hold in the end, counted by the database from what was committed. */
interface AwkwardLedger {
  readonly sent: number;
  /** Deliveries that were handled, and that operators gave up. */
  readonly delivered: number;
  readonly discarded: number;
  /** Deliveries that have not ended, of whatever state. */
  readonly open: number;
  /** Messages for which some handler has no end. */
  readonly lost: number;
  /** Handled without an effect. */
  readonly without: number;
  /** Effects beyond the first of the same message and handler. */
  readonly second: number;
  /** Effects of what was given up or never sent. */
  readonly invented: number;
  readonly outOfOrder: number;
  /** Effects with another payload than the one that was delivered. */
  readonly ofOldPayload: number;
  /** Rows that were written after the end of an effect, or past its transaction. */
  readonly escaped: number;
  /** Sessions that an effect has left in a transaction or a COPY. */
  readonly openSessions: number;
}

/** What such a storm did, and what came of it. */
export interface AwkwardReport {
  readonly ledger: AwkwardLedger;
  readonly faults: Readonly<Record<string, number>>;
  /** How often each misdeed was done, and each verb of an operator. */
  readonly misdeeds: Readonly<Record<string, number>>;
  readonly verbs: Readonly<Record<string, number>>;
  /** The most starts of one delivery in one of its cycles. */
  readonly mostStarts: number;
}

interface Scene {
  readonly server: PrivatePostgres;
  readonly database: CrashDatabase;
  readonly crew: Crew;
  readonly team: Set<Member>;
  operator: Member;
}

/** What is done to them, in turn. */
const FAULTS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  kill: async ({ crew, team }) => {
    const victim = await haltSomeone(team);
    victim.process.kill('SIGKILL');
    team.delete(victim);
    await victim.ended;
    team.add(crew.hire({}, 'awkward-process.ts'));
  },
  'end sessions': ({ database }) =>
    database.rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and random() < 0.5`),
  'kill the operator': async (scene) => {
    scene.operator.process.kill('SIGKILL');
    await scene.operator.ended;
    scene.operator = scene.crew.hire({}, 'operator-process.ts');
  },
  stop: async ({ team, database }) => {
    const ids = new Map<Member, string[]>();
    for (const member of team) ids.set(member, await database.workerIds(member));
    const sleeper = await haltSomeone(team);
    const its = ids.get(sleeper) ?? [];
    await until('its shards have new owners', async () => (await database.unitsOf(its)) === 0);
    sleeper.process.kill('SIGCONT');
  },
  restart: ({ server }) => server.restart('immediate'),
};

/**
 * Workers of two drivers whose handlers misbehave by the number of the message, killed and stopped while an operator acts at random.
 * Expects that nothing was lost, nothing happened twice or out of order, nothing escaped its transaction, and nothing is stuck.
 */
export async function awkwardStorm({ messages, keys, rounds }: AwkwardPlan): Promise<AwkwardReport> {
  const server = await privatePostgres();
  const database = await CrashDatabase.make(server.url);
  const crew = new Crew({ url: server.url, leaseMs: LEASE_MS, clockOffMs: 0, workMs: [1, 20] });
  const team = new Set(Array.from({ length: WORKERS }, () => crew.hire({}, 'awkward-process.ts')));
  const scene: Scene = { server, database, crew, team, operator: crew.hire({}, 'operator-process.ts') };
  await until('all are ready', () => crew.all.every(isReady));
  const sender = startSender({ url: server.url, keys, connections: 4 });
  const faults: Record<string, number> = {};
  const kinds = Object.keys(FAULTS);
  for (let round = 1; round <= rounds; round += 1) {
    const kind = kinds[round % kinds.length] ?? '';
    await until('all workers are ready', () => [...team].every(isReady));
    sender.grant(Math.ceil((messages / rounds) * round));
    expect(crew.fallen).toEqual([]);
    await FAULTS[kind]?.(scene);
    faults[kind] = (faults[kind] ?? 0) + 1;
    const due = Math.floor((messages / rounds) * (round - 1));
    await until('what was sent before is nearly all sent', () => sender.report.committed >= due);
  }
  await until('all is sent', () => sender.report.committed >= messages);
  await until('the operator has paused a handler', () => scene.operator.journal.look().marks.includes('pause: paused'));
  scene.operator.process.send('finish' satisfies LastWord);
  await untilAllEnded(database);
  expect(crew.fallen).toEqual([]);
  const report = { ledger: await ledgerOf(database), faults, ...countJournals(crew) };
  if (report.ledger.outOfOrder > 0) console.log(`out of order: ${await disorder(database)}`);
  const sent = await database.rows<{ key: string; n: number }>('select key, n from sent');
  const misdeeds = new Set(sent.map(misdeedOf).filter((misdeed) => misdeed !== undefined));
  expectKept({ messages, keys, rounds }, report, [...misdeeds]);
  return report;
}

/** However much is left: only when none of it ends any more, something is stuck. */
async function untilAllEnded(database: CrashDatabase): Promise<void> {
  for (let left = Infinity; left > 0;) {
    const before = left;
    await until(
      `fewer than ${before} deliveries are left`,
      async () => {
        left = await database.count(`select count(*) from ${SCHEMA}.delivery`);
        if (left >= before) await new Promise((resolve) => setTimeout(resolve, 200));
        return left < before;
      },
      () => database.leftovers(),
    );
  }
}

/** All that is known of the keys that have an effect after a later one's. */
async function disorder(database: CrashDatabase): Promise<string> {
  const rows = await database.rows(`with late as (select distinct handler, key from
      (select handler, key, n, max(n) over (partition by handler, key order by place rows unbounded preceding) as most from effect) e
      where n < most)
    select f.handler, f.key, f.n, f.place, f.worker, f.at, f.version, d.cycle, d.attempts, d.seq, d.done_at,
      (select string_agg(a.verb || ' by ' || a.actor || ' ' || a.at, ', ' order by a.at)
        from ${SCHEMA}.audit a where a.message_id = d.id) as acts, d.failure_history::text as failures
    from late join effect f using (handler, key) join ${SCHEMA}.handler h on h.name = f.handler
    left join ${SCHEMA}.delivered d on d.handler = h.id and d.payload ->> 'key' = f.key and (d.payload ->> 'n')::int = f.n
    order by f.handler, f.key, f.place`);
  return JSON.stringify(rows);
}

/** `expected`: the misdeeds that the messages that were sent call for. */
function expectKept(
  { messages, rounds }: AwkwardPlan,
  { ledger, ...report }: AwkwardReport,
  expected: readonly string[],
): void {
  expect(ledger.sent).toBeGreaterThanOrEqual(messages);
  expect(ledger).toEqual({
    sent: ledger.sent,
    delivered: ledger.sent * AWKWARD_HANDLERS.length - ledger.discarded,
    discarded: ledger.discarded,
    open: 0,
    lost: 0,
    without: 0,
    second: 0,
    invented: 0,
    outOfOrder: 0,
    ofOldPayload: 0,
    escaped: 0,
    openSessions: 0,
  });
  expect(report.mostStarts).toBeLessThan(MOST_STARTS);
  // Without these it has proved nothing.
  for (const handler of ['by-commit', 'by-project'])
    expect(expected.filter((misdeed) => report.misdeeds[`${handler}: ${misdeed}`] === undefined)).toEqual([]);
  expect(Object.keys(report.misdeeds).filter((misdeed) => misdeed.startsWith('by-batch'))).not.toEqual([]);
  expect(Object.keys(report.verbs)).toEqual(
    expect.arrayContaining([
      'replay key',
      'replay one',
      'replay where',
      'bulk',
      'edit',
      'discard',
      'skip key',
      'pause',
    ]),
  );
  expect(Object.keys(report.faults)).toHaveLength(Math.min(rounds, Object.keys(FAULTS).length));
}

async function ledgerOf(database: CrashDatabase): Promise<AwkwardLedger> {
  const one = (text: string): Promise<number> => database.count(text);
  const ended = `(select h.name as handler, d.payload ->> 'key' as key, (d.payload ->> 'n')::int as n, d.version, d.outcome
    from ${SCHEMA}.delivered d join ${SCHEMA}.handler h on h.id = d.handler)`;
  const expected = `(select key, n, handler from sent cross join unnest(array['${AWKWARD_HANDLERS.join(`','`)}']) handler)`;
  const same = 'using (handler, key, n)';
  return {
    sent: await one('select count(*) from sent'),
    delivered: await one(`select count(*) from ${ended} e where outcome = 0`),
    discarded: await one(`select count(*) from ${ended} e where outcome <> 0`),
    open: await one(`select count(*) from ${SCHEMA}.delivery`),
    lost: await one(`select count(*) from ${expected} s left join ${ended} e ${same} where e.outcome is null`),
    without: await one(
      `select count(*) from ${ended} e left join effect f ${same} where e.outcome = 0 and f.worker is null`,
    ),
    second: await one('select count(*) - count(distinct (handler, key, n)) as count from effect'),
    invented: await one(
      `select count(*) from effect f left join ${ended} e ${same} where e.outcome is distinct from 0`,
    ),
    outOfOrder: await one(`select count(*) from
      (select n, max(n) over (partition by handler, key order by place rows unbounded preceding) as most from effect) e
      where n < most`),
    ofOldPayload: await one(
      `select count(*) from effect f join ${ended} e ${same} where e.outcome = 0 and e.version <> f.version`,
    ),
    escaped: await one(
      'select count(*) from escaped left join effect f using (handler, key, n, tx) where f.worker is null',
    ),
    openSessions: await one(`select count(*) from pg_stat_activity where datname = current_database()
      and xact_start < now() - interval '30 seconds' and pid <> pg_backend_pid()`),
  };
}

/** Counted over the journals of all processes, those of the dead too. */
function countJournals(crew: Crew): Pick<AwkwardReport, 'misdeeds' | 'verbs' | 'mostStarts'> {
  const misdeeds: Record<string, number> = {};
  const verbs: Record<string, number> = {};
  const starts = new Map<string, number>();
  const [misdeed, verb] = [
    /^mark misdeed (.+)$/,
    /^mark ([a-z ]+): (replayed|edited|changed|discarded|skipped|paused)$/,
  ];
  for (const line of crew.all.flatMap(({ journal }) => readFileSync(journal.file, 'utf8').split('\n'))) {
    const [, done] = misdeed.exec(line) ?? [];
    if (done !== undefined) misdeeds[done] = (misdeeds[done] ?? 0) + 1;
    const [, acted] = verb.exec(line) ?? [];
    if (acted !== undefined) verbs[acted] = (verbs[acted] ?? 0) + 1;
    if (line.startsWith('start ')) starts.set(line, (starts.get(line) ?? 0) + 1);
  }
  let mostStarts = 0;
  for (const times of starts.values()) mostStarts = Math.max(mostStarts, times);
  return { misdeeds, verbs, mostStarts };
}
