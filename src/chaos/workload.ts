import { type Drill, drill } from '../drills/drill.ts';
import type { DrillRun, Injection } from '../drills/drill-run.ts';
import type { DrillLedger } from '../drills/ledger.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import type { DrillProgress } from './drill-database.ts';
import { FAULTS, type FaultName } from './fault-names.ts';
import { INJECT } from './faults.ts';
import { type FrontSeen, judge } from './judge.ts';
import { replayMended, type Replays } from './mended.ts';
import { openSite } from './open-site.ts';
import { planOf } from './plan.ts';
import { Sampler } from './sampler.ts';
import type { WorkloadSettings } from './settings.ts';
import type { Site } from './site.ts';
import { HANDLERS } from './step.ts';
import { until } from './until.ts';
import { ABOUT, type WorkloadProgress } from './words.ts';
import { type DrillClock, type InjectedFault, writeLedger } from './write-ledger.ts';

/** Is told how far a drill is. */
export type OnProgress = (progress: WorkloadProgress) => void;

/** A built-in drill, and what it has seen when it is over. */
export interface Workload {
  readonly drill: Drill;
  readonly ledger: () => DrillLedger | undefined;
}

/** Of a soak, each second. */
const RATE = 100;
/** A soak that is behind by so many waits, and does not pile up: what is sent, and what is handled. */
const MOST_BEHIND = 2_000;
const GRANT_EVERY_MS = 100;
const MOST_PAUSE_MS = 5_000;
/** So many at least come with each fault: of fewer there may be nothing to hit. Over HTTP they take longer. */
const LEAST_PART = 150;
const LEAST_PART_HTTP = 60;
const LOOK_EVERY_MS = 100;
const PROBES = 10;
/** Opening, draining and counting, besides what a drill is asked to last. */
const SPARE_MS = 1_800_000;
const NO_REPLAYS: Replays = { accepted: 0, refused: 0 };

const sleep = createSleep(systemEffects);

/** A drill with a workload of its own: a sender, workers in processes of their own, proxies, and faults that are put in by number. */
export function workload(settings: WorkloadSettings, onProgress: OnProgress): Workload {
  let ledger: DrillLedger | undefined;
  const made = drill<Site>(settings.name, {
    about: ABOUT[settings.name],
    timeoutMs: settings.forMs + SPARE_MS,
    stage: { open: (signal) => openSite(settings, signal), close: (site) => site.remove() },
    run: async (site, run) => {
      ledger = await new RunningWorkload(site, run, onProgress).run();
    },
  });
  return { drill: made, ledger: () => ledger };
}

class RunningWorkload {
  readonly #site: Site;
  readonly #run: DrillRun;
  readonly #onProgress: OnProgress;
  readonly #injections: ReadonlyMap<FaultName, Injection>;
  readonly #injected: InjectedFault[] = [];
  readonly #beganMs = systemEffects.monoMs();
  #granted = 0;
  /** Replies that Redis gave until the last fault was put right. */
  #fromRedis = 0;
  #open = 0;
  #phase: WorkloadProgress['phase'] = 'working';
  #fault: FaultName | undefined;

  constructor(site: Site, run: DrillRun, onProgress: OnProgress) {
    this.#site = site;
    this.#run = run;
    this.#onProgress = onProgress;
    this.#injections = new Map(site.settings.faults.map((fault) => [fault, run.inject(FAULTS[fault])]));
  }

  async run(): Promise<DrillLedger> {
    const { settings, crew, relays, front, sender } = this.#site;
    const clock = await clockOf(this.#site);
    const sampler = new Sampler(this.#site, (progress) => this.#tell(progress));
    this.#run.after(() => sampler.stop());
    if (settings.forMs > 0) await this.#soak();
    else await this.#load();
    this.#phase = 'draining';
    const seen = front && (await this.#postAllAgain());
    await this.#drain(false);
    const replays = await this.#replay();
    await sampler.stop();
    const { news } = sender;
    await sender.remove();
    for (const one of [front?.apis, relays, crew]) await one?.stop();
    const wanted = settings.forMs > 0 ? 1 : settings.messages;
    const counts = await judge(this.#site, this.#run, { news, replays, wanted, front: seen });
    const threw = crew.count('threw');
    const apiThrew = front?.apis.count('threw') ?? 0;
    const dead = Math.min(counts.deadLetters, counts.poison);
    this.#injections.get('api-failure')?.hit(apiThrew);
    this.#injections.get('failure')?.hit(threw);
    this.#injections.get('poison')?.hit(dead);
    this.#injections.get('replay')?.hit(replays.accepted);
    const woven = {
      'api-failure': { injected: apiThrew, hits: apiThrew },
      failure: { injected: threw, hits: threw },
      poison: { injected: counts.poison, hits: dead },
      replay: { injected: replays.accepted + replays.refused, hits: replays.accepted },
    };
    const { samples } = sampler;
    return writeLedger({ site: this.#site, clock, counts, injected: this.#injected, woven, samples });
  }

  /** Part of the messages, a fault, the next part, the next fault. */
  async #load(): Promise<void> {
    const { settings } = this.#site;
    const plan = planOf(settings);
    const part = Math.max(
      settings.front ? LEAST_PART_HTTP : LEAST_PART,
      Math.ceil(settings.messages / (plan.length + 1)),
    );
    const sendMore = (): void => this.#grant(this.#granted + part);
    for (const fault of plan) await this.#inject(fault, sendMore);
    this.#grant(Math.max(settings.messages, this.#granted));
    await this.#allSent();
  }

  /** As many each second, and a fault every few: each at least once, however short it is. */
  async #soak(): Promise<void> {
    const { settings, sender } = this.#site;
    const plan = planOf(settings);
    const over = new AbortController();
    const granting = (async () => {
      while (!over.signal.aborted && !this.#run.signal.aborted) {
        if (this.#granted - sender.news.acknowledged < MOST_BEHIND && this.#open < MOST_BEHIND)
          this.#grant(this.#granted + (RATE * GRANT_EVERY_MS) / 1_000);
        await sleep(GRANT_EVERY_MS);
      }
    })();
    granting.catch(() => undefined);
    const pauseMs = Math.min(MOST_PAUSE_MS, settings.forMs / (2 * Math.max(1, plan.length)));
    try {
      for (let at = 0; at < plan.length || this.#elapsedMs() < settings.forMs; at++) {
        const fault = plan[at % plan.length];
        if (fault !== undefined) await this.#inject(fault, () => undefined);
        await sleep(pauseMs, this.#run.signal);
      }
    } finally {
      over.abort();
    }
    await granting;
    await this.#allSent();
  }

  async #inject(fault: FaultName, sendMore: () => void): Promise<void> {
    const { signal } = this.#run;
    signal.throwIfAborted();
    this.#fault = fault;
    const atMs = systemEffects.now().wallMs;
    const outcome = (await INJECT[fault]?.(this.#site, signal, sendMore)) ?? { hits: 0 };
    const endMs = systemEffects.now().wallMs;
    this.#fault = undefined;
    this.#injected.push({ fault, atMs, endMs, outcome });
    this.#injections.get(fault)?.hit(outcome.hits);
    this.#fromRedis = this.#site.sender.news.http?.fromRedis ?? 0;
    await this.#goesOn();
  }

  /** The next fault hits a system that works: until something that was sent after this one has its effect. */
  async #goesOn(): Promise<void> {
    const { database, settings } = this.#site;
    const sinceMs = await database.nowMs();
    if (settings.forMs === 0) this.#grant(this.#granted + PROBES);
    const goesOn = (): Promise<boolean> => database.hasEffectSince(sinceMs);
    await until(goesOn, { withinMs: settings.waitMs, signal: this.#run.signal, everyMs: LOOK_EVERY_MS });
  }

  #grant(upTo: number): void {
    this.#granted = Math.ceil(upTo);
    this.#site.sender.order({ do: 'send', upTo: this.#granted });
  }

  async #allSent(): Promise<void> {
    const { sender } = this.#site;
    await this.#whileItMoves(
      () => sender.news.acknowledged >= this.#granted,
      () => sender.news.acknowledged,
    );
  }

  /** Posts every accepted key once more: each must get the reply it got first. */
  async #postAllAgain(): Promise<FrontSeen> {
    const { sender } = this.#site;
    const { acknowledged: accepted, repeated: before } = sender.news;
    sender.order({ do: 'repeat', count: accepted });
    const repeated = (): number => sender.news.repeated;
    await this.#whileItMoves(() => repeated() >= before + accepted, repeated);
    return { accepted, audited: repeated() - before, fromRedisBefore: this.#fromRedis };
  }

  /** Until all is handled that can be, or nothing moves any more: then what is missing is lost. */
  async #drain(isMended: boolean): Promise<void> {
    const { database } = this.#site;
    let progress = await database.progress();
    await this.#whileItMoves(
      async () => isDone((progress = await database.progress()), isMended),
      () => `${progress.effects} ${progress.open} ${progress.dead}`,
    );
    this.#tell(progress);
  }

  async #whileItMoves(isOver: () => Promise<boolean> | boolean, look: () => unknown): Promise<void> {
    const { waitMs } = this.#site.settings;
    let last = look();
    let movedMs = systemEffects.monoMs();
    while (!(await isOver())) {
      const now = look();
      if (now !== last) movedMs = systemEffects.monoMs();
      last = now;
      if (systemEffects.monoMs() - movedMs > waitMs) return;
      await sleep(LOOK_EVERY_MS, this.#run.signal);
    }
  }

  async #replay(): Promise<Replays> {
    if (!this.#site.settings.faults.includes('replay')) return NO_REPLAYS;
    this.#fault = 'replay';
    const replays = await replayMended(this.#site, this.#run.signal);
    await this.#drain(true);
    this.#fault = undefined;
    return replays;
  }

  #tell(progress: DrillProgress): void {
    const { settings } = this.#site;
    const { sent, effects } = progress;
    this.#open = progress.open;
    const bySize = (sent + effects) / (Math.max(settings.messages, this.#granted) * (1 + HANDLERS.length));
    const share = settings.forMs > 0 && this.#phase === 'working' ? this.#elapsedMs() / settings.forMs : bySize;
    this.#onProgress({ phase: this.#phase, sent, effects, share: Math.min(1, share), fault: this.#fault });
  }

  #elapsedMs(): number {
    return systemEffects.monoMs() - this.#beganMs;
  }
}

function isDone({ taken, mended, effects, open }: DrillProgress, isMended: boolean): boolean {
  return open === 0 && effects >= HANDLERS.length * (taken + (isMended ? mended : 0));
}

async function clockOf({ database }: Site): Promise<DrillClock> {
  const before = systemEffects.now().wallMs;
  const there = await database.nowMs();
  const beganMs = systemEffects.now().wallMs;
  return { beganMs, databaseAheadMs: there - (before + beganMs) / 2 };
}
