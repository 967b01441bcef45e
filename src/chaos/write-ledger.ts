import type { DrillLedger, FaultMark, LedgerCounts, LedgerFault, LedgerSample } from '../drills/ledger.ts';
import { FAULTS, type FaultName, STOPS_WORK, WOVEN } from './fault-names.ts';
import type { FaultOutcome } from './fault-outcome.ts';
import { FRONT_PROCESSES, schemaOf } from './settings.ts';
import type { Site } from './site.ts';

/** One fault that was injected. Times are of this machine's clock. */
export interface InjectedFault {
  readonly fault: FaultName;
  readonly atMs: number;
  readonly endMs: number;
  readonly outcome: FaultOutcome;
}

/** When the drill began, by this machine's clock, and by how much the database's is ahead. */
export interface DrillClock {
  readonly beganMs: number;
  readonly databaseAheadMs: number;
}

/** What a ledger is made of. */
export interface LedgerInput {
  readonly site: Site;
  readonly clock: DrillClock;
  readonly counts: LedgerCounts;
  readonly injected: readonly InjectedFault[];
  readonly woven: Readonly<Partial<Record<FaultName, { readonly injected: number; readonly hits: number }>>>;
  readonly samples: readonly LedgerSample[];
}

const STEPS = 120;
const STEP_SIZES_MS = [100, 200, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** Writes down what was done and seen, with what only the database knows: when effects happened. */
export async function writeLedger(input: LedgerInput): Promise<DrillLedger> {
  const { site, clock, counts, injected, samples } = input;
  const marks: FaultMark[] = [];
  for (const one of injected) {
    marks.push({
      fault: one.fault,
      atMs: Math.round(one.atMs - clock.beganMs),
      lastedMs: Math.round(one.endMs - one.atMs),
      hits: one.outcome.hits,
      recoveredMs: await recoveryOf(site, clock, one),
    });
  }
  return {
    settings: settingsOf(site),
    about: site.about,
    startedAt: new Date(clock.beganMs).toISOString(),
    counts,
    faults: site.settings.faults.map((fault) => faultLine(fault, input)),
    marks,
    timeline: await timelineOf(site, clock),
    samples,
  };
}

function faultLine(name: FaultName, { injected, woven }: LedgerInput): LedgerFault {
  const own = injected.filter(({ fault }) => fault === name);
  const counted = { injected: own.length, hits: own.reduce((sum, { outcome }) => sum + outcome.hits, 0) };
  return { name, about: FAULTS[name], ...(WOVEN.includes(name) ? (woven[name] ?? counted) : counted) };
}

/** Until all that it had hit has its effect; otherwise until the next effect of any. */
async function recoveryOf({ database }: Site, clock: DrillClock, fault: InjectedFault): Promise<number | undefined> {
  const { endMs, outcome } = fault;
  if (!STOPS_WORK.includes(fault.fault)) return undefined;
  const atDatabase = (outcome.sinceMs ?? endMs) + clock.databaseAheadMs;
  const found = outcome.runs ? await database.lastFirstEffectMs(outcome.runs) : await database.nextEffectMs(atDatabase);
  return found === undefined ? undefined : Math.max(0, Math.round(found - atDatabase));
}

async function timelineOf({ database }: Site, clock: DrillClock): Promise<DrillLedger['timeline']> {
  const fromMs = clock.beganMs + clock.databaseAheadMs;
  const lastMs = (await database.lastEffectMs()) ?? fromMs;
  const lengthMs = Math.max(1, lastMs - fromMs);
  const stepMs = STEP_SIZES_MS.find((size) => lengthMs / size <= STEPS) ?? Math.ceil(lengthMs / STEPS);
  const steps = Math.ceil(lengthMs / stepMs) + 1;
  const [sent, effects] = [
    await database.inSteps('drill_sent', fromMs, stepMs, steps),
    await database.inSteps('drill_effect', fromMs, stepMs, steps),
  ];
  return { stepMs, sent, effects };
}

function settingsOf({ settings, leaseMs, ownServer }: Site): Readonly<Record<string, string>> {
  const { name, broker, front, messages, keys, workers, forMs, faults, seed, waitMs } = settings;
  return {
    drill: name,
    way: broker?.kind ?? (front ? 'http' : 'local'),
    ...(front && { writes: 'over HTTP' }),
    database: ownServer ? 'its own' : 'given',
    schema: schemaOf(settings),
    ...(broker && { topics: broker.prefix }),
    ...(forMs > 0 ? { for: `${forMs / 1_000} s` } : { messages: String(messages) }),
    keys: String(keys),
    workers: String(workers),
    ...(front && { APIs: String(FRONT_PROCESSES.apis), clients: String(Math.min(FRONT_PROCESSES.clients, keys)) }),
    ...(front && broker && { relays: String(FRONT_PROCESSES.relays) }),
    lease: `${leaseMs} ms`,
    wait: `${waitMs} ms`,
    seed: String(seed),
    faults: faults.join(', '),
  };
}
