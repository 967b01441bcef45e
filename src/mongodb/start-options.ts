import { OptionCheck } from '../kernel/check-options.ts';
import { type RelayObserver, tellAll } from '../relay/relay-event.ts';
import type { RunWrapper } from '../relay/run-wrapper.ts';
import type { Transport } from '../transport/transport.ts';

/** What the `start` of an outbox or an inbox takes. Only the transport must be there. */
export interface MongoStartOptions {
  /** `redisStreams()`, `rabbitmq()`, `kafka()`, `nats()`, or `transportOf()` with a broker of your own. */
  readonly transport: Transport;
  /** Receive what happens: logs, metrics, traces and alerts of `holdfast/telemetry`. An outbox and an inbox may share them. */
  readonly observers?: readonly RelayObserver[] | undefined;
  /** Is called around each call of a handler and each message that is published: spans of `traceRelay`, an `AsyncLocalStorage`. */
  readonly wrapRun?: RunWrapper | undefined;
  /** How long a process that is not heard of keeps the work, in milliseconds: another goes on after that. Default 10,000. */
  readonly leaseMs?: number | undefined;
  /** How often it looks for messages when no change stream wakes it, in milliseconds. Default 1,000. */
  readonly pollMs?: number | undefined;
}

/** Something that runs. */
export interface Running {
  /** Begins nothing more and resolves when all that was begun has ended. May be called twice. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `MongoStartOptions` with nothing left open. */
export interface StartParts {
  readonly transport: Transport;
  readonly tell: RelayObserver;
  readonly wrapRun: RunWrapper | undefined;
  readonly leaseMs: number;
  readonly pollMs: number;
}

/** Throws `INVALID_OPTIONS` with all that is wrong. */
export function checkStart(of: string, options: MongoStartOptions): StartParts {
  const check = new OptionCheck(of);
  if (!check.object('options', options, 'pass { transport }')) check.done();
  const { transport, observers = [], wrapRun, leaseMs = 10_000, pollMs = 1_000 } = options;
  check.known(options, ['transport', 'observers', 'wrapRun', 'leaseMs', 'pollMs']);
  if (typeof transport?.handlers !== 'function' || typeof transport.receive !== 'function')
    check.refuse('transport', transport, 'pass a transport, for example redisStreams({ client })');
  if (!Array.isArray(observers) || !observers.every((observer) => typeof observer === 'function'))
    check.refuse('observers', observers, 'pass a list of functions');
  if (wrapRun !== undefined && typeof wrapRun !== 'function')
    check.refuse('wrapRun', wrapRun, 'pass a function, for example that of traceRelay(tracer), or leave it out');
  const ms = 'write whole milliseconds';
  check.number('leaseMs', leaseMs, { min: 200, max: 3_600_000, integer: true, write: `${ms} from 200` });
  check.number('pollMs', pollMs, { min: 5, max: 60_000, integer: true, write: `${ms} from 5 to 60000` });
  check.done();
  return { transport, tell: tellAll(observers), wrapRun, leaseMs, pollMs };
}
