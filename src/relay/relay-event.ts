import type { OutageState } from '../kernel/retry-state.ts';
import type { Failure } from '../retry/failure.ts';
import type { HouseReport } from './house-report.ts';
import type { Delivery, DeliveryError } from './relay-store.ts';

/** Why a result was not accepted. */
export type RefusedReason = 'lease-lost' | 'row-changed';

/** What a relay tells: log lines, metrics, spans and alerts are all made from these. */
export type RelayEvent =
  | { readonly kind: 'run-started'; readonly handler: string; readonly delivery: Delivery; readonly attempt: number }
  | {
      /** The run ended well and its completion is written. */
      readonly kind: 'run-done';
      readonly handler: string;
      readonly delivery: Delivery;
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'run-failed';
      readonly handler: string;
      readonly delivery: Delivery;
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly durationMs: number;
      readonly failure: Failure;
      readonly error: DeliveryError;
      /** What follows: another attempt after this wait, or the end with the reason. */
      readonly next:
        | {
            readonly kind: 'retry';
            readonly delayMs: number;
            /** It failed because of an outage: no attempt was spent, and this is what outages have cost it so far. */
            readonly outage?: OutageState | undefined;
          }
        | {
            readonly kind: 'dead';
            readonly reason: string;
            /** The id of the dead letter, as the store's commands take it. */
            readonly dlqId: string;
          };
    }
  | {
      /**
       * The run ended without a result, and no attempt is counted: the relay stops, its handler does not know the type, the handler put
       * the message off (`ctx.postpone`), or the way to the database was lost, which counts as an attempt when it happens too often in
       * a row.
       */
      readonly kind: 'run-interrupted';
      readonly handler: string;
      readonly delivery: Delivery;
      readonly reason: 'stopped' | 'type-unknown' | 'postponed' | 'database-fault';
      /** Why it was put off, in the words of its handler; what was wrong with the database. */
      readonly detail?: string;
      /** How many runs of it in a row a fault of the way to the database has ended, this one included. */
      readonly faults?: number;
    }
  | {
      /** A result came too late or for another version: nothing of it was kept. This is a second effect that did not happen. */
      readonly kind: 'run-refused';
      readonly handler: string;
      readonly delivery: Delivery;
      readonly reason: RefusedReason;
    }
  | {
      /** Set aside behind a dead letter of its key. */ readonly kind: 'parked';
      readonly handler: string;
      readonly delivery: Delivery;
      /** The id of the dead letter, as the store's commands take it. */
      readonly dlqId: string;
    }
  | { readonly kind: 'units-acquired'; readonly units: readonly number[]; readonly orphaned: number }
  | { readonly kind: 'units-released'; readonly units: readonly number[] }
  | { readonly kind: 'units-lost'; readonly units: readonly number[]; readonly why: 'buried' | 'refused' }
  | {
      /** The database did not answer as it should; it is tried again. */
      readonly kind: 'store-failed';
      readonly during: string;
      readonly error: unknown;
      readonly failures: number;
    }
  | {
      /** A broker did not answer as it should; it is tried again, and what goes through it waits. */
      readonly kind: 'transport-failed';
      readonly transport: string;
      readonly during: 'publish' | 'consume' | 'mirror';
      readonly error: unknown;
      /** In a row. */
      readonly failures: number;
    }
  | {
      /** One place of a broker (a topic, queue or stream) cannot be read; the others are. It is looked for again. */
      readonly kind: 'place-waiting';
      readonly transport: string;
      readonly place: string;
      readonly error: unknown;
      /** In a row. */
      readonly failures: number;
    }
  | {
      /** A place that could not be read is read now. */
      readonly kind: 'place-ready';
      readonly transport: string;
      readonly place: string;
    }
  | {
      /** Messages were taken from a broker and stored. Duplicates had been stored before; ignored ones nobody here takes. */
      readonly kind: 'received';
      readonly transport: string;
      readonly stored: number;
      readonly duplicates: number;
      readonly ignored: number;
    }
  | {
      /** A breaker, as this process sees it: once at the start, then at each change. */
      readonly kind: 'breaker';
      readonly breaker: string;
      /** Of this process; none are known at the start. */
      readonly handlers: readonly string[];
      readonly state: 'closed' | 'open' | 'probing';
      /** Messages of these handlers in line in this process that have not failed yet. */
      readonly waiting: number;
      /** How long nothing has succeeded, or, now that it is closed again, how long nothing had. */
      readonly failingMs: number;
      /** `failures`: those that this process counted · `probe`: this process tries a message, or has · `elsewhere`: another process did it, or somebody by hand. */
      readonly cause: 'start' | 'failures' | 'probe' | 'elsewhere';
      /** Until a message is tried; absent unless it is open, and while it is held open by hand. */
      readonly probeInMs?: number;
      /** What this process opened it for. */
      readonly error?: DeliveryError;
    }
  | {
      readonly kind: 'house';
      readonly report: HouseReport;
      /** Whoever owns this unit counts, and reports what it counted. Default: that of the housekeeper. */
      readonly unit?: number | undefined;
    }
  | {
      /** Joined the other workers and about to handle messages. A publishing handler's types are not known beforehand. */
      readonly kind: 'started';
      readonly handlers: readonly { readonly handler: string; readonly types: readonly string[] }[];
    }
  | { readonly kind: 'stopping' }
  | { readonly kind: 'stopped' };

/** Is told what a relay does, as it happens. What it throws is dropped. */
export type RelayObserver = (event: RelayEvent) => void;

/** One that tells all of them. An observer has no say in whether a message is handled: what it throws is dropped. */
export function tellAll(observers: readonly RelayObserver[]): RelayObserver {
  return (event) => {
    for (const observe of observers) {
      try {
        observe(event);
      } catch {
        // Dropped.
      }
    }
  };
}
