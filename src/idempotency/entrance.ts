import { linkAbort } from '../kernel/abort-link.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { newId } from '../system/new-id.ts';
import type { Entry, EntryRequest } from './entry.ts';
import { HeldRun } from './held-run.ts';
import type { IdempotencyAbout } from './idempotency-event.ts';
import type { Claim, ClaimAnswer } from './idempotency-store.ts';
import { personId, recordFingerprint, recordId } from './record-id.ts';
import { Reaper } from './reaper.ts';
import { Repeater } from './repeater.ts';
import type { StoreCalls } from './store-calls.ts';
import { undoClaim } from './undo-claim.ts';

type Answer = ClaimAnswer | { readonly kind: 'failed'; readonly error: unknown };

// Each of those who wait asks by itself. A run of this process wakes them, so that only waits for another process cost anything.
const FIRST_POLL_MS = 25;
const LONGEST_POLL_MS = 250;

/** Lets runs in, one for each record, and makes others wait. */
export class Entrance<Tx> {
  readonly #service: string;
  readonly #calls: StoreCalls<Tx>;
  readonly #repeater: Repeater;
  readonly #reaper: Reaper<Tx>;
  /** How many runs of a record are open in this process. */
  readonly #open = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(service: string, calls: StoreCalls<Tx>) {
    this.#service = service;
    this.#calls = calls;
    this.#repeater = new Repeater(calls.effects);
    this.#reaper = new Reaper(calls);
  }

  async enter(request: EntryRequest): Promise<Entry<Tx>> {
    const { domain, key, person, leaseMs, keepMs } = request;
    const id = recordId(this.#service, domain, person, key);
    const about = { service: this.#service, domain, key, id };
    const claim: Claim = {
      id,
      domain,
      person: person === null ? null : personId(this.#service, person),
      fingerprint: recordFingerprint(this.#service, request),
      owner: newId(),
      leaseMs,
      // A record that was forgotten while it is held would let a second run in.
      keepMs: Math.max(keepMs, leaseMs),
      takeUnknown: request.unknown === 'take',
    };
    let answer = await this.#claim(about, claim);
    if (answer.kind === 'running' && request.waitMs > 0) answer = await this.#wait(about, claim, request, answer);
    if (answer.kind !== 'failed') this.#reaper.now();
    return this.#entry(about, claim, request, answer);
  }

  async #claim(about: IdempotencyAbout, claim: Claim): Promise<Answer> {
    let asked: Promise<ClaimAnswer> | undefined;
    try {
      return await this.#calls.call('claim', about, () => (asked = this.#calls.store.claim(claim)));
    } catch (error) {
      // A full store has said that it did nothing.
      if (asked && !isHoldfastError(error, 'IDEMPOTENCY_STORE_FULL')) {
        undoClaim(this.#calls, this.#repeater, about, claim, asked);
      }
      return { kind: 'failed', error };
    }
  }

  async #wait(about: IdempotencyAbout, claim: Claim, { waitMs, signal }: EntryRequest, first: Answer): Promise<Answer> {
    const { effects } = this.#calls;
    const startedMs = effects.monoMs();
    let answer = first;
    let pollMs = FIRST_POLL_MS;
    for (;;) {
      const leftMs = waitMs - (effects.monoMs() - startedMs);
      if (answer.kind !== 'running' || leftMs <= 0 || signal?.aborted) break;
      await this.#pause(claim.id, this.#open.has(claim.id) ? leftMs : Math.min(leftMs, pollMs), signal);
      pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS);
      if (!signal?.aborted) answer = await this.#claim(about, claim);
    }
    this.#calls.tell({ kind: 'waited', about, waitedMs: effects.monoMs() - startedMs });
    return answer;
  }

  /** Ends after `ms`, when a run of the record ends in this process, or when the signal is aborted. */
  #pause(id: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { effects } = this.#calls;
    return new Promise((resolve) => {
      let wakes = this.#waiting.get(id);
      if (!wakes) this.#waiting.set(id, (wakes = new Set()));
      const here = wakes;
      const wake = (): void => {
        effects.clearTimer(timer);
        unlink?.();
        here.delete(wake);
        if (here.size === 0 && this.#waiting.get(id) === here) this.#waiting.delete(id);
        resolve();
      };
      const timer = effects.setTimer(wake, Math.ceil(ms));
      const unlink = signal && linkAbort(signal, wake);
      here.add(wake);
    });
  }

  #entry(about: IdempotencyAbout, claim: Claim, request: EntryRequest, answer: Answer): Entry<Tx> {
    const calls = this.#calls;
    switch (answer.kind) {
      case 'claimed':
        calls.tell({ kind: answer.run === 1 ? 'first' : 'taken-over', about, run: answer.run });
        return { kind: 'run', run: this.#hold(about, claim, answer.run, request) };
      case 'mismatch':
        calls.tell({ kind: 'mismatch', about });
        return answer;
      case 'running':
        calls.tell({ kind: 'in-flight', about, leaseLeftMs: answer.leaseLeftMs });
        return answer;
      case 'unknown':
        calls.tell({ kind: 'unknown', about, run: answer.run });
        return { kind: 'unknown', number: answer.run };
      case 'finished': {
        const { status, finishedAt, reply } = answer;
        calls.tell({ kind: 'replayed', about, status, isKept: reply !== null, finishedAt });
        return answer;
      }
      case 'failed': {
        const { error } = answer;
        const kind = request.whenStoreDown === 'run' ? 'unguarded' : 'store-down';
        calls.tell({ kind, about, error });
        return { kind, error };
      }
      default:
        return answer satisfies never;
    }
  }

  #hold(about: IdempotencyAbout, claim: Claim, number: number, { keepMs, maxRunMs }: EntryRequest): HeldRun<Tx> {
    const { id } = claim;
    this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
    const onEnd = (): void => {
      const left = (this.#open.get(id) ?? 1) - 1;
      if (left > 0) this.#open.set(id, left);
      else this.#open.delete(id);
      for (const wake of this.#waiting.get(id) ?? []) wake();
    };
    return new HeldRun({ calls: this.#calls, repeater: this.#repeater, about, claim, number, keepMs, maxRunMs, onEnd });
  }
}
