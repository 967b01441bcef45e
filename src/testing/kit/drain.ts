import { OptionCheck } from '../../kernel/check-options.ts';
import { HoldfastError } from '../../kernel/error.ts';
import type { RunningRelay } from '../../relay/relay.ts';
import type { Holdfast } from '../../service/holdfast.ts';
import type { ServiceParts } from '../../service/service-parts.ts';
import { isRelayStore, startService } from '../../service/start-service.ts';
import { systemEffects } from '../../system/effects.ts';
import type { VirtualTime } from '../virtual-time.ts';
import { type Drained, DrainLog } from './drained.ts';
import { hastenedStore } from './hastened-store.ts';
import { partsOf } from './parts.ts';
import { triedOnceStore } from './tried-once-store.ts';
import { withoutOutages } from './without-outages.ts';

/** What `drain` takes. Every field may be left out. */
export interface DrainOptions {
  /** Only these handlers. Default: all that are registered. */
  readonly handlers?: readonly string[] | undefined;
  /** `run`: what failed is tried again, until it is delivered or dead · `leave`: each message is tried once. Default `run`. */
  readonly retries?: 'run' | 'leave' | undefined;
  /** The clock of the memory store: retries then wait as their policy says, in this time, which moves on. Default: they do not wait. */
  readonly time?: VirtualTime | undefined;
  /** A drain that runs handlers more often than this has no end: it throws `DRAIN_ENDLESS`. Default 10,000. */
  readonly maxRuns?: number | undefined;
}

const FIELDS: readonly (keyof DrainOptions)[] = ['handlers', 'retries', 'time', 'maxRuns'];
const MAX_RUNS = 10_000;
// What waits and is not started after so many looks is held up by somebody: a handler that is paused, another process.
const IDLE_LOOKS = 100;

/**
 * Runs everything that is due, and what that sends in turn, until nothing is left; then tells what happened. Works on the store in
 * memory and on PostgreSQL. Failed attempts are repeated without their waits, no breaker holds anything up, and an outage spends
 * attempts like any other failure. What is scheduled for later, postponed by its handler, or paused stays. Nobody else may run these handlers meanwhile, and the caller's own transaction
 * must be committed.
 */
export async function drain<Tx, SendTx>(hf: Holdfast<Tx, SendTx>, options: DrainOptions = {}): Promise<Drained> {
  checkDrain(options);
  const parts = partsOf('drain()', hf);
  const log = new DrainLog(options.maxRuns ?? MAX_RUNS);
  const work = drained(parts, log, options);
  await (options.time ? options.time.settle(work) : work);
  return log.result;
}

async function drained<Tx, SendTx>(
  { about, store, registry }: ServiceParts<Tx, SendTx>,
  log: DrainLog,
  options: DrainOptions,
): Promise<void> {
  if (!isRelayStore(store)) throw new HoldfastError('STORE_CANNOT_RUN', { service: about.service });
  const { handlers, retries = 'run', time } = options;
  const running = await startService(
    about,
    retries === 'leave' ? triedOnceStore(store) : time === undefined ? hastenedStore(store) : store,
    {
      all: new Map([...registry.all].map(([name, handler]) => [name, withoutOutages(handler)])),
      seal: () => registry.seal(),
    },
    {
      ...(handlers && { handlers }),
      name: 'drain()',
      effects: time ?? systemEffects,
      // Each look is a step of virtual time that must be gone through, and hours may pass.
      ...(time && { pollMs: 60_000, leaseMs: 3_600_000 }),
      observers: [(event) => log.note(event)],
    },
  );
  try {
    await untilRest(running, log, options);
  } finally {
    await running.stop();
  }
}

/** Until a look at everything starts nothing any more, and nothing waits that is to be tried again. */
async function untilRest(
  running: RunningRelay,
  log: DrainLog,
  { retries = 'run', time, maxRuns = MAX_RUNS }: DrainOptions,
): Promise<void> {
  let before = -1;
  for (let idle = 0; idle < IDLE_LOOKS;) {
    const isWaiting = retries === 'run' && log.waits.size > 0;
    if (log.runs === before && !isWaiting) return;
    idle = log.runs === before ? idle + 1 : 0;
    before = log.runs;
    const waitMs = Math.min(...log.waits.values());
    if (isWaiting && time) await new Promise<void>((resolve) => time.setTimer(resolve, waitMs));
    await Promise.race([running.whenIdle(), log.endless]);
    if (log.runs > maxRuns) throw new HoldfastError('DRAIN_ENDLESS', { runs: log.runs });
  }
}

function checkDrain(options: DrainOptions): void {
  const check = new OptionCheck('drain()');
  check.known(options, FIELDS);
  const { retries, time, maxRuns } = options;
  if (retries !== undefined) check.word('retries', retries, ['run', 'leave']);
  if (time !== undefined && typeof time?.settle !== 'function')
    check.refuse('time', time, 'pass virtualTime(), the one the store has as effects');
  if (maxRuns !== undefined) check.number('maxRuns', maxRuns, { min: 1, integer: true, write: 'write a whole number' });
  check.done();
}
