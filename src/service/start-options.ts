import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { OutboxStore } from '../outbox/outbox-store.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import type { RelayParts } from '../relay/relay.ts';
import type { RunWrapper } from '../relay/run-wrapper.ts';
import { systemEffects } from '../system/effects.ts';
import type { HandlerRegistry } from './handler-registry.ts';

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
  /** Open messages at which senders are refused with `OUTBOX_FULL`. Default: no limit. */
  readonly maxPending?: number | undefined;
  /** Clock, timers and chance, for tests. */
  readonly effects?: Effects | undefined;
}

const FIELDS: readonly (keyof StartOptions)[] = [
  'handlers',
  'name',
  'observers',
  'wrapRun',
  'leaseMs',
  'pollMs',
  'historyMs',
  'maxPending',
  'effects',
];
const WEEK_MS = 7 * 86_400_000;

/** Puts together what a relay is made of. Throws when an option is wrong or nothing is there to run. */
export async function relayParts<Tx, SendTx>(
  about: { readonly service: string; readonly generation: number | undefined; readonly isPinned: boolean },
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
  registry: HandlerRegistry<Tx>,
  options: StartOptions,
): Promise<RelayParts<Tx>> {
  checkStart(options);
  const { service, generation, isPinned } = about;
  const handlers = registry.select(options.handlers);
  if (handlers.size === 0) throw new HoldfastError('HANDLERS_MISSING', { service });
  if (!isRelayStore(store)) throw new HoldfastError('STORE_CANNOT_RUN', { service });
  return {
    session: await store.openRelay(),
    effects: options.effects ?? systemEffects,
    handlers,
    worker: { name: options.name ?? service, service, generation },
    isPinned,
    observers: options.observers ?? [],
    wrapRun: options.wrapRun,
    leaseMs: options.leaseMs ?? 10_000,
    pollMs: options.pollMs ?? 1_000,
    keep: { historyMs: options.historyMs ?? WEEK_MS, maxPending: options.maxPending },
  };
}

function isRelayStore<Tx, SendTx>(
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
): store is RelayStore<Tx, SendTx> {
  return 'openRelay' in store && typeof store.openRelay === 'function';
}

function checkStart(options: StartOptions): void {
  const check = new OptionCheck('start()');
  if (!check.object('options', options, 'pass an object, or leave it out')) return check.done();
  check.known(options, FIELDS);
  const ms = 'write whole milliseconds';
  const { leaseMs, pollMs, historyMs, maxPending } = options;
  if (leaseMs !== undefined)
    check.number('leaseMs', leaseMs, { min: 200, max: 3_600_000, integer: true, write: `${ms} from 200` });
  if (pollMs !== undefined)
    check.number('pollMs', pollMs, { min: 5, max: 60_000, integer: true, write: `${ms} from 5 to 60000` });
  if (historyMs !== undefined)
    check.number('historyMs', historyMs, { min: 60_000, integer: true, write: `${ms} from 60000` });
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
