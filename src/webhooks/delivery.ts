import type { Entry, OpenRun } from '../idempotency/entry.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { RunEnd } from '../idempotency/idempotency-store.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { eventHandlerClassifier } from '../retry/classifier.ts';
import { classifyWith } from '../retry/classify-with.ts';
import { sha256 } from '../system/sha256.ts';
import type { Job, JobRun } from './job.ts';
import type { JobOutcome } from './job-answer.ts';
import type { Verified } from './verdict.ts';

/** A claim that was granted, or what to answer instead. */
type Claimed<Tx> = { readonly run: OpenRun<Tx> } | { readonly outcome: JobOutcome };

const DONE: RunEnd = { kind: 'finish', status: 'completed', reply: { head: '', body: undefined } };
const RELEASE: RunEnd = { kind: 'release' };
const MARK_LEASE_MS = 5_000;
// Receivers' clocks may differ: one that is behind lets a signature in for longer than the one that has marked it thinks.
const CLOCKS_APART_MS = 300_000;
const LONGEST_KEEP_MS = 315_360_000_000;
const LONGEST_ID = 255;
// What `idempotency` gives a run unless told otherwise; a lock that is longer says that the job is.
const USUAL_RUN_MS = 900_000;

/**
 * One delivery of a job whose signature holds. The mark that counts is that of the business key where there is one, else that of the
 * message: effects are committed with it. The other mark is written after it; should the process die in between, the next delivery
 * finds the one that counts and writes the other.
 */
export class Delivery<Payload, Tx> {
  verified: Verified | undefined;
  readonly #idempotency: Idempotency<Tx>;
  readonly #job: Job<Payload>;
  readonly #handler: (payload: Payload, run: JobRun<Tx>) => Promise<void> | void;
  #isCommitted = false;
  #committing: Promise<unknown> | undefined;

  constructor(
    idempotency: Idempotency<Tx>,
    job: Job<Payload>,
    handler: (payload: Payload, run: JobRun<Tx>) => Promise<void> | void,
  ) {
    this.#idempotency = idempotency;
    this.#job = job;
    this.#handler = handler;
  }

  async run(verified: Verified, body: Uint8Array): Promise<JobOutcome> {
    const { messageId, validForMs } = verified;
    if (messageId === '' || messageId.length > LONGEST_ID)
      return { kind: 'refused', problem: 'the message id is too long' };
    this.verified = verified;
    const refused = await this.#acceptOnce(verified);
    if (refused !== undefined) return refused;
    const times = { leaseMs: this.#job.lockMs, keepMs: Math.max(this.#job.doneMs, goodForMs(validForMs)) };
    const fingerprint = verified.isIdSigned === true ? 'signed id' : sha256(body);
    const message = await this.#claim('message', messageId, fingerprint, times);
    if ('outcome' in message) return message.outcome;
    let business: Claimed<Tx> | undefined;
    let payload: Payload;
    try {
      const read = await this.#read(body);
      if ('problem' in read) {
        await message.run.end(RELEASE);
        return { kind: 'final', problem: read.problem };
      }
      payload = read.value;
      business = await this.#reserve(payload);
    } catch (error) {
      return this.#failed([message.run], error);
    }
    if (business === undefined) return this.#handle(message.run, undefined, payload);
    if ('run' in business) return this.#handle(business.run, message.run, payload);
    await message.run.end(business.outcome.kind === 'duplicate' ? DONE : RELEASE);
    return business.outcome;
  }

  async #reserve(payload: Payload): Promise<Claimed<Tx> | undefined> {
    const { businessKey, reservationMs, doneMs } = this.#job;
    if (businessKey === undefined) return undefined;
    return this.#claim('business', businessKey(payload), 'business', { leaseMs: reservationMs, keepMs: doneMs });
  }

  /** `guard` is the run whose mark counts. */
  async #handle(guard: OpenRun<Tx>, message: OpenRun<Tx> | undefined, payload: Payload): Promise<JobOutcome> {
    const runs = message === undefined ? [guard] : [guard, message];
    let thrown: { readonly error: unknown } | undefined;
    try {
      await this.#handler(payload, this.#jobRun(guard));
    } catch (error) {
      thrown = { error };
    }
    try {
      // A commit that the handler has not waited for must not be taken for one that it did not want.
      await this.#committing;
    } catch (error) {
      thrown ??= { error };
    }
    // What was committed stays done, whatever came after it.
    if (thrown !== undefined && !this.#isCommitted) return this.#failed(runs, thrown.error);
    if (!this.#isCommitted && (await guard.end(DONE)) === 'late') {
      await message?.end(RELEASE);
      return { kind: 'running', retryAfterS: 1 };
    }
    await message?.end(DONE);
    return { kind: 'done', ...thrown };
  }

  async #failed(runs: readonly OpenRun<Tx>[], error: unknown): Promise<JobOutcome> {
    for (const run of runs) await run.end(RELEASE);
    if (isHoldfastError(error, 'IDEMPOTENCY_LATE')) return { kind: 'running', retryAfterS: 1 };
    // For a retry around the commit these are final; the next delivery finds out what became of it, or has time anew.
    const isOpen =
      isHoldfastError(error, 'IDEMPOTENCY_COMMIT_UNKNOWN') || isHoldfastError(error, 'IDEMPOTENCY_RUN_TOO_LONG');
    const failure = classifyWith(eventHandlerClassifier, error, this.#job.name);
    if (failure.verdict === 'fail' && !isOpen) return { kind: 'final', problem: 'it can never be done', error };
    const delayMs = failure.hint?.afterMs;
    return { kind: 'failed', error, retryAfterS: delayMs === undefined ? undefined : Math.ceil(delayMs / 1_000) };
  }

  #jobRun(guard: OpenRun<Tx>): JobRun<Tx> {
    const { messageId = '', attempt = 1 } = this.verified ?? {};
    return {
      job: this.#job.name,
      messageId,
      attempt,
      isFinalAttempt: attempt > this.#job.retries,
      number: guard.number,
      signal: guard.signal,
      childKey: (step) => guard.childKey(step),
      commit: (work) => {
        const committing = this.#commit(guard, work);
        this.#committing = committing;
        return committing;
      },
    };
  }

  async #commit<T>(guard: OpenRun<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      const value = await guard.commit(async (tx) => ({ value: await work(tx), end: DONE }));
      this.#isCommitted = true;
      return value;
    } finally {
      // Whoever waited for it decides what a failure means.
      this.#committing = undefined;
    }
  }

  /** A signature that does not cover the message id, nor the job, is good for one id of one job. */
  async #acceptOnce({ once, messageId, validForMs }: Verified): Promise<JobOutcome | undefined> {
    if (once === undefined) return undefined;
    const entry = await this.#idempotency.enter({
      domain: 'job:signature',
      key: once,
      person: null,
      fingerprint: sha256(JSON.stringify([this.#job.name, messageId])),
      unknown: 'take',
      leaseMs: MARK_LEASE_MS,
      keepMs: goodForMs(validForMs),
      whenStoreDown: 'refuse',
    });
    if (entry.kind === 'mismatch') return { kind: 'refused', problem: 'the signature was used for another message' };
    if (entry.kind === 'store-down') return entry;
    if (entry.kind === 'run') await entry.run.end(DONE);
    return undefined;
  }

  async #claim(
    what: 'message' | 'business',
    key: string,
    fingerprint: string,
    { leaseMs, keepMs }: { readonly leaseMs: number; readonly keepMs: number },
  ): Promise<Claimed<Tx>> {
    const entry = await this.#idempotency.enter({
      domain: `job:${this.#job.name}:${what}`,
      key,
      person: null,
      fingerprint,
      unknown: 'take',
      leaseMs,
      // A record that is forgotten while it is held would let a second one in.
      keepMs: Math.max(keepMs, leaseMs),
      ...(leaseMs > USUAL_RUN_MS ? { maxRunMs: leaseMs } : {}),
      whenStoreDown: 'refuse',
    });
    return entry.kind === 'run' ? { run: entry.run } : { outcome: outcomeOf(entry) };
  }

  async #read(body: Uint8Array): Promise<{ readonly value: Payload } | { readonly problem: string }> {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    } catch {
      return { problem: 'the body is not JSON' };
    }
    const { schema } = this.#job;
    if (schema === undefined) return { value: value as Payload };
    const result = await schema['~standard'].validate(value);
    return result.issues === undefined
      ? { value: result.value }
      : { problem: 'the body does not fit the schema of the job' };
  }
}

/** How long a signature may still be let in by any receiver. */
function goodForMs(validForMs: number): number {
  return Math.min(Math.max(0, Math.ceil(validForMs)) + CLOCKS_APART_MS, LONGEST_KEEP_MS);
}

function outcomeOf<Tx>(entry: Exclude<Entry<Tx>, { kind: 'run' }>): JobOutcome {
  switch (entry.kind) {
    case 'finished':
      return { kind: 'duplicate' };
    case 'mismatch':
      return { kind: 'refused', problem: 'the message id was used for another body' };
    case 'running':
      return { kind: 'running', retryAfterS: Math.max(1, Math.ceil(entry.leaseLeftMs / 1_000)) };
    // Neither is met: unknown outcomes are taken over, and running unguarded is never chosen.
    case 'unknown':
      return { kind: 'running', retryAfterS: 1 };
    case 'unguarded':
    case 'store-down':
      return { kind: 'store-down', error: entry.error };
  }
}
