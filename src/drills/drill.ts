import { OptionCheck } from '../kernel/check-options.ts';
import type { DrillRun } from './drill-run.ts';

/** What drills are run on: a system that is started for them, or a way to one that runs. Drills that share one run on the same. */
export interface DrillStage<Stage> {
  /** Is called once, when the first drill needs it. */
  readonly open: (signal: AbortSignal) => Promise<Stage>;
  /** Is called once after the last drill, however that ended. */
  readonly close?: ((stage: Stage) => unknown) | undefined;
}

/** What `drill` takes besides a name. */
export interface DrillOptions<Stage> {
  /** One sentence: what is broken, and what must happen then. */
  readonly about: string;
  readonly stage: DrillStage<Stage>;
  /** Breaks something, and looks what comes of it: all it does and sees goes through `run`. What it throws is a drill that did not hold. */
  readonly run: (stage: Stage, run: DrillRun) => Promise<unknown>;
  /** How long the whole of it may take, in milliseconds. Default 300,000. */
  readonly timeoutMs?: number | undefined;
}

/** A failure that is made on purpose, and what must hold then. `holdfast drill` lists and runs those that a module exports as `drills`. */
export interface Drill {
  readonly name: string;
  readonly about: string;
  readonly timeoutMs: number;
  readonly stage: DrillStage<unknown>;
  readonly run: (stage: unknown, run: DrillRun) => Promise<unknown>;
}

const NAME = /^[a-z][a-z0-9-]{0,59}$/;
const TIMEOUT_MS = 300_000;

/** Declares a drill. Throws `INVALID_OPTIONS`. */
export function drill<Stage>(name: string, options: DrillOptions<Stage>): Drill {
  const check = new OptionCheck('drill()');
  if (typeof name !== 'string' || !NAME.test(name))
    check.refuseName('name', name, 'write lower case letters, digits and -, at most 60');
  if (!check.object('options', options, 'pass { about, stage, run }')) check.done();
  check.known(options, ['about', 'stage', 'run', 'timeoutMs']);
  const { about, stage, run, timeoutMs = TIMEOUT_MS } = options;
  if (typeof about !== 'string' || about === '')
    check.refuse('about', about, 'write what is broken and what must happen');
  if (typeof (stage as Partial<DrillStage<Stage>> | undefined)?.open !== 'function')
    check.refuse('stage', stage, 'pass { open, close }');
  if (typeof run !== 'function') check.refuse('run', run, 'pass a function of the stage and the run');
  check.number('timeoutMs', timeoutMs, { min: 1, max: 86_400_000, write: 'write milliseconds from 1 to a day' });
  check.done();
  // A stage is only ever handed to drills that were declared with it.
  return { name, about, timeoutMs, stage: stage as DrillStage<unknown>, run: run as Drill['run'] };
}
