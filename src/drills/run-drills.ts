import { linkAbort } from '../kernel/abort-link.ts';
import type { Effects } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';
import type { Drill, DrillStage } from './drill.ts';
import type { DrillReport } from './drill-report.ts';
import { NotSeen, RunningDrill } from './drill-run.ts';

/** What `runDrills` takes besides the drills. Every field may be left out. */
export interface RunDrillsOptions {
  /** Stops what is under way; what was broken is put right, and what was opened is closed. */
  readonly signal?: AbortSignal | undefined;
  /** How long `until` looks at most, in milliseconds. Default 30,000. */
  readonly waitMs?: number | undefined;
  /** Is told of each drill before it begins. */
  readonly onStart?: ((drill: Drill) => void) | undefined;
  /** Is given each ledger as it is finished. */
  readonly onReport?: ((report: DrillReport) => void) | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

const WAIT_MS = 30_000;

/** Runs drills one after the other, and gives their ledgers. Stages are opened once for all, and closed however it ends. */
export async function runDrills(drills: readonly Drill[], options: RunDrillsOptions = {}): Promise<DrillReport[]> {
  const { signal = new AbortController().signal, waitMs = WAIT_MS, effects = systemEffects } = options;
  const stages = new Stages(signal);
  const reports: DrillReport[] = [];
  try {
    for (const one of drills) {
      if (signal.aborted) break;
      options.onStart?.(one);
      const report = await runOne(one, stages, { signal, waitMs, effects });
      reports.push(report);
      options.onReport?.(report);
    }
  } finally {
    await stages.close();
  }
  return reports;
}

/** Those that are open. */
class Stages {
  readonly #signal: AbortSignal;
  readonly #open = new Map<DrillStage<unknown>, Promise<unknown>>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  of(stage: DrillStage<unknown>): Promise<unknown> {
    const opened = this.#open.get(stage) ?? stage.open(this.#signal);
    this.#open.set(stage, opened);
    return opened;
  }

  async close(): Promise<void> {
    for (const [stage, opened] of this.#open) {
      // One that could not be opened has closed what it had by itself.
      const found = await opened.then(
        (value) => ({ value }),
        () => undefined,
      );
      if (found) await stage.close?.(found.value);
    }
  }
}

async function runOne(
  { name, about, stage, run, timeoutMs }: Drill,
  stages: Stages,
  { signal, waitMs, effects }: { signal: AbortSignal; waitMs: number; effects: Effects },
): Promise<DrillReport> {
  const over = new AbortController();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  over.signal.addEventListener('abort', () => stopped.reject(over.signal.reason), { once: true });
  const running = new RunningDrill({ effects, waitMs, signal: over.signal });
  const startedMs = effects.monoMs();
  const unlink = linkAbort(signal, () => over.abort(new Error('it was stopped')));
  let timer: unknown;
  let problem: string | undefined;
  try {
    // Waited for also where it is stopped meanwhile: what has begun to open must be closed.
    const opened = await stages.of(stage).catch((error: unknown) => {
      throw new Error(`it could not begin: ${messageOf(error)}`, { cause: error });
    });
    timer = effects.setTimer(() => over.abort(new Error(`it took longer than ${timeoutMs} ms`)), timeoutMs);
    if (signal.aborted) over.abort(new Error('it was stopped'));
    over.signal.throwIfAborted();
    await Promise.race([run(opened, running), stopped.promise]);
  } catch (error) {
    if (!(error instanceof NotSeen)) problem = messageOf(error);
  } finally {
    effects.clearTimer(timer);
    unlink();
    over.abort(new Error('it is over'));
  }
  const [notPutRight] = await running.cleanUp();
  if (notPutRight !== undefined) problem ??= `what it broke could not be put right: ${messageOf(notPutRight)}`;
  const { injected, checked } = running;
  problem ??= problemWith(injected, checked);
  return {
    name,
    about,
    held: problem === undefined,
    injected,
    checked,
    problem,
    tookMs: Math.round(effects.monoMs() - startedMs),
  };
}

/** Why what was done and seen proves nothing, or the opposite. */
function problemWith(injected: DrillReport['injected'], checked: DrillReport['checked']): string | undefined {
  const failed = checked.filter(({ held }) => !held);
  if (failed.length > 0)
    return failed.length === 1 ? 'one thing is not as expected' : `${failed.length} things are not as expected`;
  if (injected.length === 0) return 'it injected nothing, so it proves nothing';
  const missed = injected.find(({ hits }) => hits === 0);
  if (missed) return `"${missed.what}" never hit, so it proves nothing`;
  return checked.length === 0 ? 'it looked at nothing, so it proves nothing' : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
