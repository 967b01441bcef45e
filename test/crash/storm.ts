import { expect } from 'vitest';
import { CrashDatabase, type Ledger } from './crash-database.ts';
import { HANDLERS } from './crash-events.ts';
import { Crew, startSender, until, type Member } from './crew.ts';
import { halt } from '../support/halt.ts';
import { privatePostgres } from './private-postgres.ts';

const WORKERS = 4;
// Shorter than the default of 10 s, so that all takeovers fit into two minutes.
const LEASE_MS = 2_000;
// Only a takeover that hangs takes so long, also on a slow machine.
const TAKEOVER_WITHIN_MS = 60_000;

/** How much a storm does. */
export interface StormPlan {
  /** Where the server's programs are from. */
  readonly from: 'machine' | 'package';
  readonly messages: number;
  readonly keys: number;
  /** One each round, about every second. */
  readonly kills: number;
  /** Another worker is stopped past its lease in every so many rounds. */
  readonly pauseEvery: number;
  /** The server is restarted in these rounds. */
  readonly restarts: ReadonlyMap<number, 'immediate' | 'fast'>;
}

/** What a storm did, and what came of it. */
export interface StormReport {
  readonly ledger: Ledger;
  kills: number;
  pauses: number;
  restarts: number;
  longestTakeoverMs: number;
  /** Results that came too late and were refused. */
  readonly suppressed: number;
  readonly rolledBack: number;
}

type Tally = Pick<StormReport, 'kills' | 'pauses' | 'restarts' | 'longestTakeoverMs'>;

/**
 * Workers in processes of their own, killed and stopped in the middle of their work, while messages are sent and the server is
 * restarted. Expects that nothing was lost, nothing happened twice and the order of each key was kept, and that it was hit.
 */
export async function storm(plan: StormPlan): Promise<StormReport> {
  const { messages, kills, pauseEvery, restarts } = plan;
  const server = await privatePostgres(plan.from);
  const database = await CrashDatabase.make(server.url);
  const crew = new Crew({ url: server.url, leaseMs: LEASE_MS, clockOffMs: 0, workMs: [5, 40] });
  const team = new Set<Member>();
  for (let i = 0; i < WORKERS; i++) team.add(crew.hire());
  await until('all workers are ready', () => [...team].every(isReady));
  const sender = startSender({ url: server.url, keys: plan.keys, connections: 4 });
  const tally: Tally = { kills: 0, pauses: 0, restarts: 0, longestTakeoverMs: 0 };
  const takeovers: Promise<void>[] = [];

  for (let round = 1; round <= kills; round++) {
    const startedMs = performance.now();
    if (round % pauseEvery === 0) takeovers.push(pause(team, database, tally));
    const mode = restarts.get(round);
    if (mode) {
      await server.restart(mode);
      tally.restarts += 1;
    }
    // About one each second; on a slow machine only as fast as new ones come to work.
    await until('all workers are ready', () => [...team].every(isReady));
    // Not before: whoever is busy between two rounds has taken over from the dead, and dying with the same message again and again
    // would rightly bring that under suspicion.
    sender.grant(Math.ceil(messages / kills) * round);
    takeovers.push((await kill(crew, team, database, tally)).takeover);
    await until('a second has passed', () => performance.now() - startedMs > 1_000);
  }

  await until('all is sent', () => sender.report.committed >= messages);
  await Promise.all(takeovers);
  await until(
    'all is handled',
    () => database.isDone(),
    () => database.leftovers(),
  );
  expect(crew.fallen).toEqual([]);
  const ledger = await database.ledger();
  const report = { ledger, ...tally, suppressed: crew.count('refused'), rolledBack: sender.report.rolledBack };
  expectKept(plan, report);
  return report;
}

function expectKept({ messages, kills, pauseEvery, restarts }: StormPlan, report: StormReport): void {
  const { ledger } = report;
  expect(ledger.sent).toBeGreaterThanOrEqual(messages);
  expect(ledger).toEqual({
    sent: ledger.sent,
    effects: ledger.sent * HANDLERS.length,
    lost: 0,
    second: 0,
    invented: 0,
    outOfOrder: 0,
    delivered: ledger.sent * HANDLERS.length,
    open: 0,
    dead: 0,
  });
  expect(report.longestTakeoverMs).toBeLessThan(TAKEOVER_WITHIN_MS);
  // Without these it has proved nothing.
  expect(report).toMatchObject({ kills, restarts: restarts.size, pauses: Math.floor(kills / pauseEvery) });
  expect(report.suppressed).toBeGreaterThan(0);
  expect(report.rolledBack).toBeGreaterThan(0);
}

/** It has said that it is at work. */
export function isReady({ journal }: Member): boolean {
  return journal.look().marks.includes('ready');
}

/** It has begun more than one message and not finished them: not all of them can be just about to be finished. */
function isBusy({ journal }: Member): boolean {
  return [...journal.look().inFlight].filter((about) => about.startsWith(HANDLERS[0])).length > 1;
}

/** Halts one in the middle of its work: what it had in flight as it stood still it has still. */
export async function haltSomeone(team: Iterable<Member>): Promise<Member> {
  for (;;) {
    await until('a worker has messages in flight', () => [...team].some(isBusy));
    const choice = [...team].filter(isBusy);
    const chosen = choice[Math.floor(Math.random() * choice.length)];
    if (!chosen) continue;
    await halt(chosen.process.pid ?? 0);
    if (isBusy(chosen)) return chosen;
    chosen.process.kill('SIGCONT');
  }
}

/** Kills one in the middle of its work, and hires another. Resolves when the dead one's units have new owners. */
async function kill(
  crew: Crew,
  team: Set<Member>,
  database: CrashDatabase,
  tally: Tally,
): Promise<{ takeover: Promise<void> }> {
  const ids = new Map<Member, string[]>();
  for (const member of team) ids.set(member, await database.workerIds(member));
  const victim = await haltSomeone(team);
  victim.process.kill('SIGKILL');
  team.delete(victim);
  await victim.ended;
  tally.kills += 1;
  team.add(crew.hire());
  return { takeover: takenOver(database, ids.get(victim) ?? [], tally) };
}

/** Stops one in the middle of its work until others have taken over, then lets it go on as if nothing had happened. */
async function pause(team: Set<Member>, database: CrashDatabase, tally: Tally): Promise<void> {
  const ids = new Map<Member, string[]>();
  for (const member of team) ids.set(member, await database.workerIds(member));
  const sleeper = await haltSomeone(team);
  team.delete(sleeper);
  await takenOver(database, ids.get(sleeper) ?? [], tally);
  sleeper.process.kill('SIGCONT');
  team.add(sleeper);
  tally.pauses += 1;
}

async function takenOver(database: CrashDatabase, workerIds: readonly string[], tally: Tally): Promise<void> {
  const startedMs = performance.now();
  await until('its units have new owners', async () => (await database.unitsOf(workerIds)) === 0);
  tally.longestTakeoverMs = Math.max(tally.longestTakeoverMs, Math.round(performance.now() - startedMs));
}
