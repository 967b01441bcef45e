import { OptionCheck } from '../../kernel/check-options.ts';
import type { OpenRun, RunFacts } from '../entry.ts';
import type { RunEnd } from '../idempotency-store.ts';
import { type CapturedReply, type HeaderLine, type HttpReply, keepReply } from './http-reply.ts';
import { problemReply } from './problem-reply.ts';
import { type KeepVerdict, MEBIBYTE, type RouteOptions } from './route-options.ts';

const VERDICTS: ReadonlySet<KeepVerdict> = new Set(['keep', 'release', 'doubt']);

/** What a handler may use of its run. */
export interface RouteRun<Tx, Reply> extends RunFacts {
  /**
   * Runs `work` in a transaction of the store's database. What it writes, what it sends through the outbox and the reply it makes
   * are committed together, or not at all. Rejects with what `work` threw; with `IDEMPOTENCY_LATE` when another run has taken over.
   */
  commit(work: (tx: Tx) => Promise<Reply>): Promise<Reply>;
}

/** The run of one request, for adapters: it takes replies and says what to send. */
export class HttpRun<Tx> implements RunFacts {
  readonly #run: OpenRun<Tx>;
  readonly #options: Pick<RouteOptions<never>, 'atomic' | 'keep' | 'keepHeaders' | 'maxReplyBytes'>;
  readonly #winner: () => Promise<HttpReply>;
  #hasTried = false;
  #isCommitted = false;

  constructor(
    run: OpenRun<Tx>,
    options: Pick<RouteOptions<never>, 'atomic' | 'keep' | 'keepHeaders' | 'maxReplyBytes'>,
    winner: () => Promise<HttpReply>,
  ) {
    this.#run = run;
    this.#options = options;
    this.#winner = winner;
  }

  get number(): number {
    return this.#run.number;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  childKey(step: string): string {
    return this.#run.childKey(step);
  }

  /** A reply with a larger body is captured as `too-large`. */
  get maxReplyBytes(): number {
    return this.#options.maxReplyBytes ?? MEBIBYTE;
  }

  /** To be sent with the handler's own reply. */
  get header(): HeaderLine {
    return ['Idempotent-Replayed', 'false'];
  }

  /**
   * Ends the run with what the handler answered. Answers what to send instead, when another run has taken over. Rejects only with
   * what the route's own `keep` threw.
   */
  async finish(reply: CapturedReply): Promise<HttpReply | undefined> {
    if (this.#isCommitted) return undefined;
    let verdict: KeepVerdict;
    try {
      verdict = this.#verdict(reply);
    } catch (error) {
      await this.doubt();
      throw error;
    }
    if (verdict !== 'keep') return this.#end({ kind: verdict });
    const refusal = this.#uncommitted(reply);
    return refusal === undefined ? this.keep(reply) : ((await this.keep(refusal)) ?? refusal);
  }

  /**
   * What to answer and keep instead of a reply whose first byte is there: that of an atomic route whose handler has not called `commit`.
   * What the handler did outside of it may have happened, so the refusal is kept and nothing runs again.
   */
  refusal(reply: CapturedReply): HttpReply | undefined {
    const refusal = this.#uncommitted(reply);
    try {
      return refusal !== undefined && this.#verdict(reply) === 'keep' ? refusal : undefined;
    } catch {
      return undefined;
    }
  }

  #uncommitted({ status }: CapturedReply): HttpReply | undefined {
    const isRefused = this.#options.atomic === true && !this.#hasTried && status < 400;
    return isRefused ? problemReply('not-committed') : undefined;
  }

  /** Keeps a reply, whatever the route says of such replies. */
  async keep(reply: CapturedReply): Promise<HttpReply | undefined> {
    return this.#end(this.#kept(reply));
  }

  /** The handler threw and nobody will make a reply of it. What is answered to a repetition says that it failed. */
  async fail(): Promise<void> {
    await this.finish(problemReply('failed'));
  }

  async doubt(): Promise<void> {
    await this.#run.end({ kind: 'doubt' });
  }

  /** As `RouteRun.commit`, with a reply that `captured` reads. */
  async commit<Reply>(
    work: (tx: Tx) => Promise<Reply>,
    captured: (reply: Reply) => Promise<CapturedReply>,
  ): Promise<Reply> {
    this.#hasTried = true;
    const value = await this.#run.commit(async (tx) => {
      const made = await work(tx);
      return { value: made, end: this.#kept(await captured(made)) };
    });
    this.#isCommitted = true;
    return value;
  }

  async #end(end: RunEnd): Promise<HttpReply | undefined> {
    const ended = await this.#run.end(end);
    return ended === 'late' && end.kind !== 'release' ? this.#winner() : undefined;
  }

  #kept(reply: CapturedReply): RunEnd {
    const status = reply.status < 400 ? 'completed' : 'failed';
    return { kind: 'finish', status, reply: keepReply(reply, this.#options.keepHeaders) };
  }

  #verdict(reply: CapturedReply): KeepVerdict {
    const { atomic, keep } = this.#options;
    const verdict = keep?.(withPlainNames(reply));
    if (verdict !== undefined && !VERDICTS.has(verdict)) {
      const check = new OptionCheck('keep()');
      check.refuse('what it answered', verdict, "answer 'keep', 'release' or 'doubt'");
      check.done();
    }
    return verdict ?? (atomic === true && reply.status >= 500 ? 'release' : 'keep');
  }
}

/** A route asks for headers by their names in lower case, however the handler wrote them. */
function withPlainNames(reply: CapturedReply): CapturedReply {
  return { ...reply, headers: reply.headers.map(([name, value]) => [name.toLowerCase(), value] as const) };
}
