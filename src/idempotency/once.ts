import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { sha256 } from '../system/sha256.ts';
import { canonicalJson } from './canonical-json.ts';
import { checkTimes } from './check-idempotency-options.ts';
import type { Entry, OpenRun, RunFacts } from './entry.ts';
import type { EntryOptions, Idempotency } from './idempotency.ts';
import type { KeptReply } from './idempotency-store.ts';
import { keepError, keepValue, keptValue, VALUE_NOT_KEPT } from './once-value.ts';
import { childKey, recordId } from './record-id.ts';
import { RunView } from './run-view.ts';

/** What somebody found out about a run that was lost: its value, that it may run again, or nothing. */
export type OnceResolution<T> = { readonly value: T } | 'rerun' | 'refuse';

/** What `once` takes besides the key and the function. Every field may be left out. */
export interface OnceOptions<T> extends Pick<
  EntryOptions,
  'waitMs' | 'leaseMs' | 'keepMs' | 'maxRunMs' | 'whenStoreDown' | 'signal'
> {
  /** What the key is for: equal keys in two domains are two things. Default `'once'`. */
  readonly domain?: string | undefined;
  /**
   * For whom, so that it can be erased; equal keys of two persons are two things. Left out or `null`: nobody in particular.
   * `undefined` is refused, for an id that could not be read is not everybody's.
   */
  readonly person?: string | null;
  /**
   * What is asked for, if the key does not say it all: anything that JSON can hold. With another one the key is refused. Only a
   * keyed digest of it is stored.
   */
  readonly input?: unknown;
  /**
   * What to do when an earlier run was lost and may have taken effect: refuse with `IDEMPOTENCY_UNKNOWN` (the default), run again, or
   * ask a function that can look, while nobody else can run.
   */
  readonly unknown?: 'refuse' | 'rerun' | ((run: RunFacts) => Promise<OnceResolution<T>>) | undefined;
  /**
   * What it means when the function throws. `'release'`: nothing was done, the next one runs (the default). `'keep'`: that is the
   * result, and everybody else gets `IDEMPOTENCY_FAILED`. `'doubt'`: something may have been done, the outcome is unknown.
   */
  readonly onThrow?: 'release' | 'keep' | 'doubt' | undefined;
}

/** What a function of `once` may use. */
export interface OnceRun<Tx> extends RunFacts {
  /**
   * Runs `work` in a transaction of the store's database. Its effects and its value, which is what everybody gets, are committed
   * together, or not at all. Rejects with what `work` threw; with `IDEMPOTENCY_LATE` when another run has taken over.
   */
  commit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

type Work<Tx, T> = (run: OnceRun<Tx>) => Promise<T>;

/** `Idempotency.once`. */
export async function runOnce<Tx, T>(
  idempotency: Idempotency<Tx>,
  service: string,
  key: string,
  work: Work<Tx, T>,
  options: OnceOptions<T>,
): Promise<T> {
  checkOnceOptions(work, options);
  const request = entryOptions(key, options);
  const { domain } = request;
  const entry = await idempotency.enter(request);
  switch (entry.kind) {
    case 'run':
      return new OnceCall(idempotency, request, options, work).run(entry.run);
    case 'unguarded':
      return keepValue(domain, await work(unguarded(idempotency, recordId(service, domain, request.person, key))))
        .value;
    default:
      return answerOf(domain, entry) as T;
  }
}

/** The value of an entry that is not a run. */
function answerOf(domain: string, entry: Exclude<Entry<never>, { kind: 'run' | 'unguarded' }>): unknown {
  switch (entry.kind) {
    case 'finished':
      return keptValue(domain, entry.reply);
    case 'mismatch':
      throw new HoldfastError('IDEMPOTENCY_MISMATCH', { domain });
    case 'running':
      throw new HoldfastError('IDEMPOTENCY_IN_FLIGHT', { domain, leaseLeftMs: entry.leaseLeftMs });
    case 'unknown':
      throw new HoldfastError('IDEMPOTENCY_UNKNOWN', { domain, run: entry.number });
    case 'store-down':
      throw new HoldfastError('IDEMPOTENCY_STORE_DOWN', { domain }, { cause: entry.error });
    default:
      return entry satisfies never;
  }
}

/** One call that was let in. */
class OnceCall<Tx, T> {
  readonly #idempotency: Idempotency<Tx>;
  readonly #request: EntryOptions;
  readonly #options: OnceOptions<T>;
  readonly #work: Work<Tx, T>;
  #committed: { readonly value: unknown } | undefined;

  constructor(idempotency: Idempotency<Tx>, request: EntryOptions, options: OnceOptions<T>, work: Work<Tx, T>) {
    this.#idempotency = idempotency;
    this.#request = request;
    this.#options = options;
    this.#work = work;
  }

  async run(run: OpenRun<Tx>): Promise<T> {
    const { unknown } = this.#options;
    if (run.number > 1 && typeof unknown === 'function') {
      const found = await this.#resolve(run, unknown);
      if (found !== 'rerun') return this.#keep(run, found.value);
    }
    let value: T;
    try {
      value = await this.#work(this.#facts(run));
    } catch (error) {
      await this.#endThrown(run, error);
      throw error;
    }
    return this.#committed ? (this.#committed.value as T) : this.#keep(run, value);
  }

  async #resolve(
    run: OpenRun<Tx>,
    ask: (run: RunFacts) => Promise<OnceResolution<T>>,
  ): Promise<{ readonly value: T } | 'rerun'> {
    let found: OnceResolution<T>;
    try {
      found = await ask(run);
    } catch (error) {
      await run.end({ kind: 'doubt' });
      throw error;
    }
    if (found === 'rerun' || (typeof found === 'object' && found !== null && 'value' in found)) return found;
    if (found !== 'refuse') {
      await run.end({ kind: 'doubt' });
      const check = new OptionCheck('once()');
      check.refuse('what unknown answered', found, "answer { value: … }, 'rerun' or 'refuse'");
      check.done();
    }
    await run.end({ kind: 'doubt' });
    throw new HoldfastError('IDEMPOTENCY_UNKNOWN', { domain: this.#request.domain, run: run.number });
  }

  #facts(run: OpenRun<Tx>): OnceRun<Tx> {
    const { domain } = this.#request;
    const commit = async <V>(work: (tx: Tx) => Promise<V>): Promise<V> => {
      const value = await run.commit(async (tx) => {
        const made = keepValue(domain, await work(tx));
        return { value: made.value, end: { kind: 'finish', status: 'completed', reply: made.kept } };
      });
      this.#committed = { value };
      return value;
    };
    return new RunView(run, commit);
  }

  async #keep(run: OpenRun<Tx>, value: T): Promise<T> {
    let made: { readonly kept: KeptReply; readonly value: T };
    try {
      made = keepValue(this.#request.domain, value);
    } catch (error) {
      // It was done, so it must not be done again for the sake of a value.
      await run.end({ kind: 'finish', status: 'completed', reply: VALUE_NOT_KEPT });
      throw error;
    }
    const ended = await run.end({ kind: 'finish', status: 'completed', reply: made.kept });
    return ended === 'late' ? this.#winner() : made.value;
  }

  /** Another run has taken over, and what that one gave is the value. */
  async #winner(): Promise<T> {
    const { domain } = this.#request;
    const entry = await this.#idempotency.enter({ ...this.#request, unknown: 'tell', whenStoreDown: 'refuse' });
    if (entry.kind === 'finished') return keptValue(domain, entry.reply) as T;
    // It has released what it had: this run is over all the same.
    if (entry.kind === 'run') await entry.run.end({ kind: 'doubt' });
    throw new HoldfastError('IDEMPOTENCY_LATE', { domain });
  }

  async #endThrown(run: OpenRun<Tx>, error: unknown): Promise<void> {
    const { onThrow = 'release' } = this.#options;
    // After a commit this changes nothing: that was the end.
    if (onThrow === 'keep') await run.end({ kind: 'finish', status: 'failed', reply: keepError(error) });
    else await run.end({ kind: onThrow });
  }
}

function unguarded<Tx>(idempotency: Idempotency<Tx>, id: string): OnceRun<Tx> {
  const { signal } = new AbortController();
  return {
    number: 1,
    signal,
    childKey: (step) => childKey(id, step),
    commit: (work) => idempotency.transaction(work),
  };
}

function entryOptions<T>(key: string, options: OnceOptions<T>): EntryOptions {
  const { domain = 'once', person = null, input, unknown = 'refuse', onThrow: _, ...times } = options;
  const text = input === undefined ? '' : canonicalJson(input);
  if (text === undefined) {
    const check = new OptionCheck('once()');
    check.refuse('input', input, 'pass something that is not nested so deeply');
    check.done();
  }
  const fingerprint = text ? sha256(text) : '';
  return { ...times, domain, key, person, fingerprint, unknown: unknown === 'refuse' ? 'tell' : 'take' };
}

function checkOnceOptions<Tx, T>(work: Work<Tx, T>, options: OnceOptions<T>): void {
  const check = new OptionCheck('once()');
  if (typeof work !== 'function') check.refuse('the second argument', work, 'pass the function to run');
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, [
      'domain',
      'person',
      'input',
      'unknown',
      'onThrow',
      'waitMs',
      'leaseMs',
      'keepMs',
      'maxRunMs',
      'whenStoreDown',
      'signal',
    ]);
    const { person, unknown, onThrow, whenStoreDown } = options;
    if ('person' in options && person === undefined) {
      check.refuse('person', person, 'pass the id as text, or null where the key alone says it');
    }
    if (unknown !== undefined && typeof unknown !== 'function') check.word('unknown', unknown, ['refuse', 'rerun']);
    if (onThrow !== undefined) check.word('onThrow', onThrow, ['release', 'keep', 'doubt']);
    if (whenStoreDown !== undefined) check.word('whenStoreDown', whenStoreDown, ['refuse', 'run']);
    checkTimes(check, options, ['waitMs', 'leaseMs', 'keepMs', 'maxRunMs']);
  }
  check.done();
}
