import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import type { RunWrapper } from '../relay/run-wrapper.ts';

/** What `start` takes. Every field may be left out. */
export interface StartOptions {
  /** Only these handlers run in this process. Default: all that are registered. */
  readonly handlers?: readonly string[] | undefined;
  /** What people see of this process. Default: its service. */
  readonly name?: string | undefined;
  /** Are told what happens: logs, metrics, traces and alerts of `holdfast/telemetry`. */
  readonly observers?: readonly RelayObserver[] | undefined;
  /** Called around each handler, for tracing. */
  readonly wrapRun?: RunWrapper | undefined;
  /** How long a process that is not heard of keeps its units, in milliseconds: work goes on elsewhere after that. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /** How often it looks for messages when nobody wakes it, in milliseconds. Default 1,000. */
  readonly pollMs?: number | undefined;
  /** How long finished messages are kept, in milliseconds. Default: seven days. */
  readonly historyMs?: number | undefined;
  /** How long a message from a broker is remembered, so that its next arrival has no effect, in milliseconds. Default: seven days. */
  readonly inboxMs?: number | undefined;
  /**
   * How long the brokers of this service keep messages and may hand them out again, in milliseconds, where you know it: an `inboxMs` that
   * is too short for that is refused. Default: not asked.
   */
  readonly brokerKeepsMs?: number | undefined;
  /** Open messages at which senders are refused with `OUTBOX_FULL`. Default: no limit. */
  readonly maxPending?: number | undefined;
  /** Clock, timers and chance, for tests. */
  readonly effects?: Effects | undefined;
}

/** What `start` does where it is told nothing. */
export const START_DEFAULTS: Readonly<Record<'leaseMs' | 'pollMs' | 'historyMs' | 'inboxMs', number>> = {
  leaseMs: 10_000,
  pollMs: 1_000,
  historyMs: 7 * 86_400_000,
  inboxMs: 7 * 86_400_000,
};

const FIELDS: readonly (keyof StartOptions)[] = [
  'handlers',
  'name',
  'observers',
  'wrapRun',
  'leaseMs',
  'pollMs',
  'historyMs',
  'inboxMs',
  'brokerKeepsMs',
  'maxPending',
  'effects',
];

/** Throws `INVALID_OPTIONS` with all that is wrong. */
export function checkStart(options: StartOptions): void {
  const check = new OptionCheck('start()');
  if (!check.object('options', options, 'pass an object, or leave it out')) return check.done();
  check.known(options, FIELDS);
  const ms = 'write whole milliseconds';
  const { leaseMs, pollMs, historyMs, inboxMs, brokerKeepsMs, maxPending } = options;
  if (leaseMs !== undefined)
    check.number('leaseMs', leaseMs, { min: 200, max: 3_600_000, integer: true, write: `${ms} from 200` });
  if (pollMs !== undefined)
    check.number('pollMs', pollMs, { min: 5, max: 60_000, integer: true, write: `${ms} from 5 to 60000` });
  if (historyMs !== undefined)
    check.number('historyMs', historyMs, { min: 60_000, integer: true, write: `${ms} from 60000` });
  if (inboxMs !== undefined)
    check.number('inboxMs', inboxMs, { min: 60_000, integer: true, write: `${ms} from 60000` });
  if (brokerKeepsMs !== undefined)
    check.number('brokerKeepsMs', brokerKeepsMs, { min: 0, integer: true, write: `${ms} from 0` });
  if (maxPending !== undefined)
    check.number('maxPending', maxPending, { min: 1, integer: true, write: 'write a whole number from 1' });
  if (
    options.observers !== undefined &&
    !(Array.isArray(options.observers) && options.observers.every((o) => typeof o === 'function'))
  ) {
    check.refuse('observers', options.observers, 'pass a list of functions');
  }
  if (options.wrapRun !== undefined && typeof options.wrapRun !== 'function')
    check.refuse('wrapRun', options.wrapRun, 'pass a function');
  check.done();
}
