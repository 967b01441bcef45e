/// <reference lib="esnext.disposable" preserve="true" />
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { Dispatcher } from './dispatcher.ts';
import type { HandlerDefinition } from './handler.ts';
import { LOOK_MS, Membership } from './membership.ts';
import { Mirror, type MirrorOptions } from './mirror.ts';
import { Reader } from './reader.ts';
import type { RelayEvent, RelayObserver } from './relay-event.ts';
import type { KeepOptions } from './house-report.ts';
import type { News, RelaySession } from './relay-store.ts';
import type { RunWrapper } from './run-wrapper.ts';

/** What a relay is made of. */
export interface RelayParts<Tx> {
  readonly session: RelaySession<Tx>;
  readonly effects: Effects;
  readonly handlers: ReadonlyMap<string, HandlerDefinition<Tx>>;
  readonly worker: { readonly name: string; readonly service: string; readonly generation: number | undefined };
  readonly isPinned: boolean;
  readonly tell: RelayObserver;
  /** What messages for a handler are taken as. */
  readonly subscriptions: (handler: HandlerDefinition<Tx>) => readonly string[];
  readonly wrapRun: RunWrapper | undefined;
  /** How long a worker that is not heard of keeps its units. */
  readonly leaseMs: number;
  /** At the latest after this long the reader looks again. */
  readonly pollMs: number;
  readonly keep: KeepOptions;
  /** Where copies of dead letters are made. */
  readonly mirrors: readonly MirrorOptions[];
}

/** A relay that runs. */
export interface RunningRelay extends AsyncDisposable {
  /** Changes when the worker was taken for dead and joined again. */
  readonly workerId: string;
  /** Resolves when everything that was committed and ready before the call has been handled, as far as this process owns it. */
  whenIdle(): Promise<void>;
  /**
   * Starts nothing more, lets what runs end within `drainMs` (default 10,000), aborts the rest, gives everything back. May be
   * called twice. A message that was aborted is not counted as failed: another process runs it.
   */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** How long what runs may take to end when a relay stops, unless it is told otherwise. */
export const DEFAULT_DRAIN_MS = 10_000;
const IDLE_LOOK_MS = 20;

/** Joins the other workers and starts to handle messages. Rejects when it cannot join. */
export async function startRelay<Tx>(parts: RelayParts<Tx>): Promise<RunningRelay> {
  const relay = new Relay(parts);
  await relay.start();
  return relay;
}

class Relay<Tx> implements RunningRelay {
  readonly #parts: RelayParts<Tx>;
  readonly #dispatcher: Dispatcher<Tx>;
  readonly #reader: Reader<Tx>;
  readonly #membership: Membership<Tx>;
  readonly #mirrors: readonly Mirror<Tx>[];
  #stopping: Promise<void> | undefined;
  #failures = 0;

  constructor(parts: RelayParts<Tx>) {
    this.#parts = parts;
    const { session, effects, handlers, worker, isPinned, leaseMs, pollMs, keep } = parts;
    const tell = (event: RelayEvent): void => this.#tell(event);
    const workerId = (): string => this.#membership.id;
    const onFailure = (during: string, error: unknown): void => this.#failed(during, error);
    this.#dispatcher = new Dispatcher({
      session,
      effects,
      tell,
      workerId,
      wrapRun: parts.wrapRun,
      onLoad: () => this.#reader.wake(),
      onRoom: () => this.#reader.refill(),
      onDueIn: (ms) => this.#reader.lookWithin(ms),
      onDoubt: () => this.#membership.lookNow(),
      onQuiet: () => this.#membership.lookSoon(),
    });
    const dispatcher = this.#dispatcher;
    this.#mirrors = parts.mirrors.map((mirror) => new Mirror({ session, effects, tell }, dispatcher, mirror));
    const onAnswer = (): void => this.#answered();
    this.#reader = new Reader({ session, dispatcher, effects, workerId, onFailure, onAnswer, pollMs });
    this.#membership = new Membership({
      session,
      dispatcher,
      effects,
      tell,
      onFailure,
      handlers,
      worker,
      subscriptions: parts.subscriptions,
      isPinned,
      leaseMs,
      keep,
      onUnits: () => this.#reader.wake(),
    });
  }

  get workerId(): string {
    return this.#membership.id;
  }

  async start(): Promise<void> {
    try {
      const hear = (news: News): void => (news === 'units' ? this.#membership.lookSoon() : this.#reader.wake());
      // Before it joins: from its first moment on the others know which connection it lives by, and nobody who comes is missed.
      const hears = await this.#parts.session.listen(hear);
      await this.#membership.start();
      this.#tell({ kind: 'started', handlers: this.#announced() });
      this.#reader.start(hears);
      for (const mirror of this.#mirrors) mirror.start();
    } catch (error) {
      await this.#membership.stop();
      await this.#membership.leave().catch(() => undefined);
      await this.#parts.session.close().catch(() => undefined);
      throw error;
    }
  }

  async whenIdle(): Promise<void> {
    const { effects } = this.#parts;
    // What was committed a moment before must be looked for first.
    this.#reader.wake();
    while (!this.#stopping && !(this.#membership.hasLooked && this.#reader.isExhausted && this.#dispatcher.isIdle)) {
      await new Promise<void>((resolve) => effects.setTimer(resolve, IDLE_LOOK_MS));
    }
  }

  async stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    this.#stopping ??= this.#stop(options.drainMs ?? DEFAULT_DRAIN_MS);
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(drainMs: number): Promise<void> {
    const { session } = this.#parts;
    this.#tell({ kind: 'stopping' });
    this.#dispatcher.isHeld = true;
    await Promise.all([this.#reader.stop(), this.#membership.stop(), ...this.#mirrors.map((mirror) => mirror.stop())]);
    const deadlineMs = this.#parts.effects.monoMs() + drainMs;
    await this.#drain(deadlineMs);
    for (const run of this.#dispatcher.runs) {
      run.abort(new HoldfastError('RELAY_STOPPED', { handler: run.handler, id: run.id }));
    }
    // A commit on its way decides for itself, and an abort needs a moment to come through.
    await this.#drain(this.#parts.effects.monoMs() + Math.max(1_000, drainMs / 10));
    await this.#dispatcher.stop();
    await this.#membership.leave().catch((error: unknown) => this.#failed('leave', error));
    await session.close().catch((error: unknown) => this.#failed('close', error));
    this.#tell({ kind: 'stopped' });
  }

  #announced(): (RelayEvent & { readonly kind: 'started' })['handlers'] {
    return [...this.#parts.handlers.values()].map(({ name, kind, takes }) => ({
      handler: name,
      types: kind === 'publish' ? [] : [...takes.keys()],
    }));
  }

  /** Waits until nothing runs and all results are written, and says meanwhile that this worker lives. */
  async #drain(deadlineMs: number): Promise<void> {
    const { effects, leaseMs } = this.#parts;
    let beatMs = effects.monoMs();
    while (effects.monoMs() < deadlineMs && (this.#dispatcher.runs.length > 0 || !this.#dispatcher.settler.isIdle)) {
      await new Promise<void>((resolve) => effects.setTimer(resolve, IDLE_LOOK_MS));
      // As often as it looked round: a connection that it loses meanwhile must not make it a dead worker.
      if (effects.monoMs() - beatMs < Math.min(leaseMs / 5, LOOK_MS)) continue;
      beatMs = effects.monoMs();
      await this.#membership.beat().catch((error: unknown) => this.#failed('beat', error));
    }
  }

  #answered(): void {
    this.#failures = 0;
  }

  #failed(during: string, error: unknown): void {
    this.#failures++;
    this.#tell({ kind: 'store-failed', during, error, failures: this.#failures });
  }

  #tell(event: RelayEvent): void {
    this.#parts.session.observe?.(event);
    this.#parts.tell(event);
  }
}
