import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { event } from '../outbox/event.ts';
import { type RelayObserver, tellAll } from '../relay/relay-event.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import type { RunningRelay } from '../relay/relay.ts';
import { holdfast } from '../service/holdfast.ts';
import { RunningService } from '../service/running-service.ts';
import type { StartOptions } from '../service/start-options.ts';
import { systemEffects } from '../system/effects.ts';
import { AddressGuard, type AddressRules } from './address-guard.ts';
import { deliver, type DeliverHost } from './deliver.ts';
import { DeliveryFailed } from './delivery-failed.ts';
import { DeliveryLines } from './delivery-lines.ts';
import { DELIVERY_HANDLER, DELIVERY_SERVICE, DELIVERY_TYPE, type DeliveryRequest } from './delivery-request.ts';
import { type DestinationBreakerOptions, DestinationGates } from './destination-gates.ts';
import { guardedSockets } from './guarded-sockets.ts';
import { ReportBatcher } from './report-batcher.ts';
import { ScheduleClock } from './schedule-clock.ts';
import type { Schedules } from './schedules.ts';
import type { SenderStore } from './sender-store.ts';
import type { Resolve } from './resolve.ts';

/** What `startDeliveries` takes. */
export interface DeliveryOptions<Tx, SendTx = Tx> extends Pick<
  StartOptions,
  'name' | 'wrapRun' | 'leaseMs' | 'pollMs' | 'historyMs'
> {
  /** The engine's store: `postgres({ pool })`. */
  readonly store: RelayStore<Tx, SendTx>;
  /** The delivery server's: `postgresDelivery({ pool, … }).sender`. */
  readonly sender: SenderStore;
  /** What is published again and again. Default: nothing is. */
  readonly schedules?: Pick<Schedules, 'fire' | 'onChange'> | undefined;
  /** Who may be called. Default: public addresses. */
  readonly addresses?: AddressRules | undefined;
  /** How many deliveries are on their way at once in this process. Default 512. */
  readonly concurrency?: number | undefined;
  /** How long an attempt may take whose message does not say, in milliseconds. Default two minutes. */
  readonly timeoutMs?: number | undefined;
  /** What messages may ask for, in milliseconds. Default 15 minutes. */
  readonly maxTimeoutMs?: number | undefined;
  /** How much of an answer's body is kept, in bytes; what is beyond is not read. Default 65,536. */
  readonly maxResponseBytes?: number | undefined;
  readonly breaker?: DestinationBreakerOptions | undefined;
  /** Whom to trust besides the authorities everybody trusts: certificates in PEM. */
  readonly ca?: string | undefined;
  /** How names are resolved. Default: as the system does. */
  readonly resolve?: Resolve | undefined;
  readonly observers?: readonly RelayObserver[] | undefined;
  readonly effects?: Effects | undefined;
}

const CONCURRENCY = 512;
const TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 15 * 60_000;
const MAX_RESPONSE_BYTES = 65_536;
// What an attempt takes besides its request: keys, rates, the log.
const AROUND_MS = 60_000;

/** Starts to deliver in this process what is published, and to publish what is scheduled. Rejects when it cannot begin. */
export async function startDeliveries<Tx, SendTx = Tx>(options: DeliveryOptions<Tx, SendTx>): Promise<RunningRelay> {
  checkDeliveries(options);
  const { sender, effects = systemEffects, observers = [], schedules } = options;
  const tell = tellAll(observers);
  const storeFailed = (error: unknown): void => tell({ kind: 'store-failed', during: 'delivery', error, failures: 1 });
  const gates = new DestinationGates({ effects, store: sender, breaker: options.breaker, storeFailed });
  const slots = options.concurrency ?? CONCURRENCY;
  const lines = new DeliveryLines({ effects, settings: sender, gates, slots });
  const guard = new AddressGuard(options.addresses);
  const sockets = guardedSockets(guard, { resolve: options.resolve, ca: options.ca });
  const loop = schedules && new ScheduleClock({ effects, schedules, onError: storeFailed });
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const maxTimeoutMs = Math.max(timeoutMs, options.maxTimeoutMs ?? MAX_TIMEOUT_MS);
  const host: DeliverHost = {
    effects,
    store: sender,
    guard,
    gates,
    lines,
    sockets,
    reports: new ReportBatcher({ effects, store: sender, storeFailed }),
    timeoutMs,
    maxTimeoutMs,
    maxResponseBytes: options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
    storeFailed,
  };
  const close = async (): Promise<void> => {
    await gates.stop();
    lines.stop();
    sockets.close();
    await sender.close();
  };
  try {
    await sender.open();
    await gates.start();
    const relay = await startRelayOf(options, host, slots);
    loop?.start();
    return new RunningService(relay, { stopReceiving: async () => loop?.stop(), close });
  } catch (error) {
    await close();
    throw error;
  }
}

async function startRelayOf<Tx, SendTx>(
  options: DeliveryOptions<Tx, SendTx>,
  host: DeliverHost,
  slots: number,
): Promise<RunningRelay> {
  const hf = holdfast<SendTx, Tx>({ service: DELIVERY_SERVICE, store: options.store });
  const delivery = event<DeliveryRequest>(DELIVERY_TYPE);
  hf.on(delivery, DELIVERY_HANDLER, (request, ctx) => deliver(host, request, ctx), {
    lines: host.lines,
    concurrency: slots,
    timeoutMs: host.maxTimeoutMs + AROUND_MS,
    onDead: 'pass',
    breaker: false,
    // Its destinations have breakers and policies of their own.
    maxOutageMs: 0,
    blameless: true,
    classify: (error) => (error instanceof DeliveryFailed ? error.failure : undefined),
    policyOf: (error) => (error instanceof DeliveryFailed ? error.policy : undefined),
  });
  const { name, wrapRun, leaseMs, pollMs, historyMs, observers, effects } = options;
  return hf.start({ name, wrapRun, leaseMs, pollMs, historyMs, observers, effects });
}

const FIELDS: readonly (keyof DeliveryOptions<never>)[] = [
  'store',
  'sender',
  'schedules',
  'addresses',
  'concurrency',
  'timeoutMs',
  'maxTimeoutMs',
  'maxResponseBytes',
  'breaker',
  'ca',
  'resolve',
  'name',
  'wrapRun',
  'leaseMs',
  'pollMs',
  'historyMs',
  'observers',
  'effects',
];

function checkDeliveries<Tx, SendTx>(options: DeliveryOptions<Tx, SendTx>): void {
  const check = new OptionCheck('startDeliveries()');
  if (check.object('options', options, 'pass { store: postgres({ pool }), sender: deliveries.sender }')) {
    check.known(options, FIELDS);
    const { concurrency, timeoutMs, maxTimeoutMs, maxResponseBytes, breaker } = options;
    const whole = { integer: true, write: 'write a whole number from 1' };
    if (concurrency !== undefined) check.number('concurrency', concurrency, { min: 1, max: 10_000, ...whole });
    if (timeoutMs !== undefined) check.number('timeoutMs', timeoutMs, { min: 1, max: 86_400_000, ...whole });
    if (maxTimeoutMs !== undefined) check.number('maxTimeoutMs', maxTimeoutMs, { min: 1, max: 86_400_000, ...whole });
    if (maxResponseBytes !== undefined)
      check.number('maxResponseBytes', maxResponseBytes, {
        min: 0,
        max: 16_777_216,
        integer: true,
        write: 'write bytes up to 16777216',
      });
    if (breaker !== undefined && check.object('breaker', breaker, 'write { failures: 5 }, or leave it out')) {
      check.known(breaker, ['failures', 'probeAfterMs', 'maxProbeAfterMs'], 'breaker.');
      for (const [name, value] of Object.entries(breaker))
        if (value !== undefined) check.number(`breaker.${name}`, value, { min: 1, max: 86_400_000, ...whole });
    }
  }
  check.done();
}
