import type { RelayEvent } from '../relay/relay-event.ts';
import type { Delivery } from '../relay/relay-store.ts';
import { counted } from './counted.ts';
import { formatDuration } from './duration.ts';
import type { Io } from './io.ts';
import type { Output } from './output.ts';
import { terminalLine } from './table.ts';

/** What was done so far. */
export interface Tally {
  readonly done: number;
  /** Attempts that failed and are tried again. */
  readonly retries: number;
  /** Failed for good. */
  readonly dead: number;
  /** Results that came too late: second effects that did not happen. */
  readonly refused: number;
}

/** Prints what a relay does: each failure as it happens, what went well as a sum. */
export class RelayPrinter {
  readonly #io: Io;
  readonly #output: Output;
  readonly #isVerbose: boolean;
  #tally: Tally = { done: 0, retries: 0, dead: 0, refused: 0 };
  #told: Tally = this.#tally;
  #unserved = '';

  constructor(io: Io, output: Output, isVerbose: boolean) {
    this.#io = io;
    this.#output = output;
    this.#isVerbose = isVerbose;
  }

  get tally(): Tally {
    return this.#tally;
  }

  /** One line of its own, with the time. */
  say(kind: string, text: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const at = new Date(this.#io.effects.now().wallMs).toISOString();
    this.#output.record({ at, kind, ...facts }, () => {
      const { paint } = this.#output;
      this.#output.line(`${paint.dim(at.slice(11, 19))}  ${terminalLine(text)}`);
    });
  }

  /** Says the sum, if it has changed since it was said last. */
  sayTally(): void {
    if (this.#told === this.#tally) return;
    this.#told = this.#tally;
    this.say('tally', describeTally(this.#tally), { ...this.#tally });
  }

  readonly observe = (event: RelayEvent): void => {
    switch (event.kind) {
      case 'run-done':
        this.#count({ done: 1 });
        if (this.#isVerbose)
          this.#run(event, `done in ${formatDuration(event.durationMs)}`, { durationMs: event.durationMs });
        break;
      case 'run-failed':
        this.#failed(event);
        break;
      case 'run-refused':
        this.#count({ refused: 1 });
        this.#run(event, `came too late and was refused (${event.reason})`, { reason: event.reason });
        break;
      case 'run-interrupted':
        this.#run(event, `ended without a result (${event.reason})`, { reason: event.reason });
        break;
      case 'parked':
        this.#count({ dead: 1 });
        this.#run(event, 'set aside behind a dead letter of its key');
        break;
      case 'store-failed':
        this.#storeFailed(event);
        break;
      case 'transport-failed':
        this.#transportFailed(event);
        break;
      case 'place-waiting':
        this.#placeWaiting(event);
        break;
      case 'place-ready': {
        const { kind, transport, place } = event;
        this.say(kind, `${transport}: ${place} is read now`, { transport, place });
        break;
      }
      case 'breaker':
        this.#breaker(event);
        break;
      case 'house':
        this.#house(event);
        break;
      case 'units-lost':
        this.say(event.kind, `lost ${counted(event.units.length, 'unit')} to another worker (${event.why})`, {
          units: event.units.length,
          why: event.why,
        });
        break;
      case 'run-started':
      case 'received':
      case 'units-acquired':
      case 'units-released':
      case 'stopping':
      case 'stopped':
        break;
      default:
        event satisfies never;
    }
  };

  #breaker({ kind, breaker, state, cause }: Extract<RelayEvent, { kind: 'breaker' }>): void {
    const isNews = cause !== 'start' && state !== 'probing' && (cause !== 'probe' || state === 'closed');
    if (!isNews && !(this.#isVerbose && cause !== 'start')) return;
    const what = {
      open: 'nothing of its handlers is started',
      closed: 'its handlers go on',
      probing: 'one message is tried',
    };
    this.say(kind, `breaker ${breaker} is ${state}: ${what[state]}`, { breaker, state, cause });
  }

  #count(more: Partial<Tally>): void {
    const { done, retries, dead, refused } = this.#tally;
    this.#tally = {
      done: done + (more.done ?? 0),
      retries: retries + (more.retries ?? 0),
      dead: dead + (more.dead ?? 0),
      refused: refused + (more.refused ?? 0),
    };
  }

  #run(
    { kind, handler, delivery }: { readonly kind: string; readonly handler: string; readonly delivery: Delivery },
    text: string,
    facts: Readonly<Record<string, unknown>> = {},
  ): void {
    this.say(kind, `${handler}  ${delivery.type} ${delivery.id}  ${text}`, {
      handler,
      id: delivery.id,
      type: delivery.type,
      key: delivery.key,
      ...facts,
    });
  }

  #failed(event: Extract<RelayEvent, { kind: 'run-failed' }>): void {
    const { attempt, maxAttempts, next, error } = event;
    this.#count(next.kind === 'dead' ? { dead: 1 } : { retries: 1 });
    const follows =
      next.kind === 'dead'
        ? `failed for good (${next.reason})`
        : `failed, tried again in ${formatDuration(next.delayMs)}`;
    const of = Number.isFinite(maxAttempts) ? ` of ${maxAttempts}` : '';
    const { name, message, code } = error;
    this.#run(event, `attempt ${attempt}${of} ${follows}: ${code ?? name}: ${message}`, {
      attempt,
      next,
      error: { name, message, code },
    });
  }

  #storeFailed({ kind, during, error, failures }: Extract<RelayEvent, { kind: 'store-failed' }>): void {
    // A database that is away fails every look: the first of a series is told, then ever fewer.
    if (!Number.isInteger(Math.log2(failures))) return;
    const message = error instanceof Error ? error.message : String(error);
    this.say(kind, `the database did not answer (${during}: ${message}); tried again`, { during, message, failures });
  }

  #transportFailed({
    kind,
    transport,
    during,
    error,
    failures,
  }: Extract<RelayEvent, { kind: 'transport-failed' }>): void {
    if (!Number.isInteger(Math.log2(failures))) return;
    const message = error instanceof Error ? error.message : String(error);
    this.say(kind, `${transport} did not answer (${during}: ${message}); tried again`, {
      transport,
      during,
      message,
      failures,
    });
  }

  #placeWaiting({ kind, transport, place, error, failures }: Extract<RelayEvent, { kind: 'place-waiting' }>): void {
    if (!Number.isInteger(Math.log2(failures))) return;
    const message = error instanceof Error ? error.message : String(error);
    this.say(kind, `${transport}: ${place} waits, the others are read (${message}); looked for again`, {
      transport,
      place,
      message,
      failures,
    });
  }

  #house({ report }: Extract<RelayEvent, { kind: 'house' }>): void {
    const unserved = report.unserved.map(
      (one) =>
        `${counted(one.count, 'delivery', 'deliveries')} of ${one.handler ?? one.type ?? 'unknown'}: ${one.reason}`,
    );
    const text = unserved.join('; ');
    if (text !== '' && text !== this.#unserved)
      this.say('unserved', `nobody serves ${text}`, { unserved: report.unserved });
    this.#unserved = text;
  }
}

/** The sum in words. */
export function describeTally({ done, retries, dead, refused }: Tally): string {
  return [
    `${done.toLocaleString('en-US')} handled`,
    ...(retries > 0 ? [counted(retries, 'retry', 'retries')] : []),
    ...(dead > 0 ? [counted(dead, 'dead letter')] : []),
    ...(refused > 0 ? [`${refused} too late`] : []),
  ].join(', ');
}
