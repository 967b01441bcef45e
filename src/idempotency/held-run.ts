import { HoldfastError } from '../kernel/error.ts';
import type { OpenRun, RunEnded } from './entry.ts';
import type { IdempotencyAbout } from './idempotency-event.ts';
import type { AtomicIdempotencyStore, Claim, EndAnswer, RunEnd } from './idempotency-store.ts';
import { childKey } from './record-id.ts';
import type { Repeater } from './repeater.ts';
import type { StoreCalls } from './store-calls.ts';

/** What a run needs of the place that let it in. */
export interface RunHost<Tx> {
  readonly calls: StoreCalls<Tx>;
  readonly repeater: Repeater;
  readonly about: IdempotencyAbout;
  readonly claim: Claim;
  readonly number: number;
  /** How long the record is kept from its end on; its claim may say more. */
  readonly keepMs: number;
  readonly maxRunMs: number;
  /** Called once, when the run has ended or holds nothing any more. */
  readonly onEnd: () => void;
}

/**
 * A run under its claim. Says to the store that it lives, every third of the lease, until it ends, is told that it has lost its claim,
 * or its time is up. Afterwards there is no timer of it.
 */
export class HeldRun<Tx> implements OpenRun<Tx> {
  readonly number: number;
  readonly #host: RunHost<Tx>;
  readonly #startedMs: number;
  #abort: AbortController | undefined;
  #lost: HoldfastError | undefined;
  #timer: unknown;
  #isHeld = true;
  #hasLeft = false;
  #ending: Promise<RunEnded> | undefined;
  #committing: Promise<void> | undefined;
  #committed: EndAnswer | undefined;

  constructor(host: RunHost<Tx>) {
    this.number = host.number;
    this.#host = host;
    this.#startedMs = host.calls.effects.monoMs();
    this.#beatIn(host.claim.leaseMs / 3);
  }

  /** Made when it is first asked for: most handlers are done before anything could happen to it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#lost) this.#abort.abort(this.#lost);
    return this.#abort.signal;
  }

  childKey(step: string): string {
    return childKey(this.#host.claim.id, step);
  }

  end(end: RunEnd): Promise<RunEnded> {
    this.#ending ??= this.#end(end);
    return this.#ending;
  }

  async commit<T>(work: (tx: Tx) => Promise<{ readonly value: T; readonly end: RunEnd }>): Promise<T> {
    const { domain } = this.#host.about;
    const { atomic } = this.#host.calls;
    if (!atomic) throw new HoldfastError('IDEMPOTENCY_NOT_ATOMIC', { domain });
    while (this.#committing) await this.#committing;
    if (this.#committed === 'late') throw this.#late();
    if (this.#ending || this.#committed) throw new HoldfastError('IDEMPOTENCY_RUN_ENDED', { domain });
    const committing = this.#commit(atomic, work);
    const settled = (): void => void (this.#committing = undefined);
    this.#committing = committing.then(settled, settled);
    return committing;
  }

  async #commit<T>(
    store: AtomicIdempotencyStore<Tx>,
    work: (tx: Tx) => Promise<{ readonly value: T; readonly end: RunEnd }>,
  ): Promise<T> {
    const { about, calls } = this.#host;
    const claim = this.#atEnd();
    let end: RunEnd | undefined;
    let thrown: { readonly error: unknown } | undefined;
    const answer = await store
      .commit(claim, async (tx) => {
        thrown = undefined;
        try {
          const made = await work(tx);
          end = made.end;
          return made;
        } catch (error) {
          thrown = { error };
          throw error;
        }
      })
      .catch((error: unknown) => {
        if (thrown?.error !== error) calls.tell({ kind: 'store-failed', about, during: 'commit', error });
        throw error;
      });
    this.#letGo();
    this.#committed = answer.kind;
    this.#tellEnd(end, this.#committed);
    this.#leave();
    if (answer.kind === 'late') throw this.#late();
    return answer.value;
  }

  async #end(end: RunEnd): Promise<RunEnded> {
    const { about, calls, repeater } = this.#host;
    const claim = this.#atEnd();
    await this.#committing;
    if (this.#committed) return this.#committed;
    this.#letGo();
    const tell = (): Promise<EndAnswer> => calls.call('end', about, () => calls.store.end(claim, end));
    try {
      const answer = await tell();
      this.#tellEnd(end, answer);
      return answer;
    } catch (error) {
      calls.tell({ kind: 'unconfirmed', ...this.#facts(), error });
      const now = calls.effects.monoMs();
      repeater.add({
        untilMs: now + claim.keepMs,
        holdsProcessUntilMs: now + claim.leaseMs,
        attempt: async () => {
          this.#tellEnd(end, await tell());
          return undefined;
        },
      });
      return 'unconfirmed';
    } finally {
      this.#leave();
    }
  }

  #tellEnd(end: RunEnd | undefined, answer: EndAnswer): void {
    const { calls } = this.#host;
    if (answer === 'late') return calls.tell({ kind: 'late', ...this.#facts() });
    switch (end?.kind) {
      case 'finish':
        return calls.tell({ kind: 'finished', ...this.#facts(), status: end.status });
      case 'release':
        return calls.tell({ kind: 'released', ...this.#facts() });
      default:
        return calls.tell({ kind: 'doubted', ...this.#facts() });
    }
  }

  #facts(): { readonly about: IdempotencyAbout; readonly run: number; readonly runMs: number } {
    return { about: this.#host.about, run: this.number, runMs: this.#age() };
  }

  #age(): number {
    return this.#host.calls.effects.monoMs() - this.#startedMs;
  }

  #beatIn(ms: number): void {
    const leftMs = this.#host.maxRunMs - this.#age();
    const waitMs = Math.max(0, Math.ceil(Math.min(ms, leftMs)));
    this.#timer = this.#host.calls.effects.setTimer(() => void this.#beat(), waitMs);
  }

  async #beat(): Promise<void> {
    const { about, calls, claim, maxRunMs } = this.#host;
    if (this.#age() >= maxRunMs) {
      return this.#lose('too-long', new HoldfastError('IDEMPOTENCY_RUN_TOO_LONG', { domain: about.domain, maxRunMs }));
    }
    // Not heard of, it may hold all the same: a store that comes back renews it if nobody has taken over. So it is asked, and
    // more often, instead of stopping work that may well be the only one.
    const isKept = await calls.call('renew', about, () => calls.store.renew(claim)).catch(() => undefined);
    if (!this.#isHeld) return;
    if (isKept === false) this.#lose('taken', this.#late());
    else this.#beatIn(claim.leaseMs / (isKept ? 3 : 12));
  }

  #lose(why: 'taken' | 'too-long', reason: HoldfastError): void {
    this.#letGo();
    this.#lost = reason;
    this.#host.calls.tell({ kind: 'lost', ...this.#facts(), why });
    this.#abort?.abort(reason);
    // Who waits for this record waits for another run now.
    this.#leave();
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#host.onEnd();
  }

  #atEnd(): Claim {
    const { claim, keepMs } = this.#host;
    return claim.keepMs === keepMs ? claim : { ...claim, keepMs };
  }

  #letGo(): void {
    this.#isHeld = false;
    this.#host.calls.effects.clearTimer(this.#timer);
  }

  #late(): HoldfastError {
    return new HoldfastError('IDEMPOTENCY_LATE', { domain: this.#host.about.domain });
  }
}
