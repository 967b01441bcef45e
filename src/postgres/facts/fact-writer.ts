import type { Effects } from '../../kernel/effects.ts';
import { createSleep } from '../../kernel/sleep.ts';
import { letProcessEnd } from '../../system/effects.ts';
import { sqlStateOf } from '../driver/database-error.ts';
import type { Link } from '../driver/driver.ts';
import type { FactLine } from './fact-line.ts';

/** Why facts were lost: too many waited, the database refused them, or they came after, or were left at, the stop. */
export type FactLossReason = 'full' | 'refused' | 'stopped';

/** Facts that will not be in any timeline. */
export interface LostFacts {
  readonly count: number;
  readonly reason: FactLossReason;
  /** What the database said last, where it said something. */
  readonly error?: unknown;
}

/** How a writer works. */
export interface FactWriterPlan {
  readonly link: Link;
  readonly schema: string;
  readonly maxWaiting: number;
  readonly onLost: ((lost: LostFacts) => void) | undefined;
  readonly effects: Effects;
}

const BATCH = 500;
/** What comes within this time is written together. */
const GATHER_MS = 200;
/** Waits while the database does not answer, from the first to the longest. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** How long the difference of two clocks is good for. */
const CLOCK_GOOD_MS = 600_000;

/** Writes facts in the background, many in one statement. Whoever hands one in waits for nothing and is told nothing. */
export class FactWriter {
  readonly #plan: FactWriterPlan;
  readonly #waiting: FactLine[] = [];
  /** Of the reasons that are told with the next look at the database: one line for each lost fact would be a flood. */
  #untold = 0;
  #timer: unknown;
  #working: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  readonly #stop = new AbortController();
  #kept = 0;
  #lost = 0;
  #clock: { readonly aheadMs: number; readonly goodUntilMs: number } | undefined;

  constructor(plan: FactWriterPlan) {
    this.#plan = plan;
  }

  get counts(): { readonly kept: number; readonly lost: number; readonly waiting: number } {
    return { kept: this.#kept, lost: this.#lost, waiting: this.#waiting.length };
  }

  add(fact: FactLine): void {
    if (this.#stopped) return this.#lose(1, 'stopped');
    if (this.#waiting.length >= this.#plan.maxWaiting) {
      this.#untold += 1;
      this.#lost += 1;
      return;
    }
    this.#waiting.push(fact);
    if (this.#waiting.length >= BATCH) this.#start();
    else if (this.#timer === undefined && !this.#working) {
      this.#timer = this.#plan.effects.setTimer(() => this.#start(), GATHER_MS);
      letProcessEnd(this.#timer);
    }
  }

  /** Writes what waits, for at most this long, and ends. The second call waits for the first. */
  stop(timeoutMs: number): Promise<void> {
    return (this.#stopped ??= this.#end(timeoutMs));
  }

  async #end(timeoutMs: number): Promise<void> {
    const { effects, link } = this.#plan;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = effects.setTimer(resolve, timeoutMs);
    if (this.#waiting.length > 0) this.#start();
    await Promise.race([this.#working, late]);
    effects.clearTimer(timer);
    effects.clearTimer(this.#timer);
    this.#stop.abort();
    const left = this.#waiting.splice(0).length;
    this.#tellFull();
    if (left > 0) this.#lose(left, 'stopped');
    await link.close().catch(() => undefined);
  }

  #start(): void {
    this.#plan.effects.clearTimer(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    const sleep = createSleep(this.#plan.effects);
    let waitMs = FIRST_WAIT_MS;
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const batch = this.#waiting.slice(0, BATCH);
      try {
        await this.#write(batch);
        this.#done(batch.length);
        this.#kept += batch.length;
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        this.#clock = undefined;
        if (isFinal(error)) {
          this.#done(batch.length);
          this.#lose(batch.length, 'refused', error);
        } else {
          await sleep(waitMs, this.#stop.signal).catch(() => undefined);
          waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
        }
      }
      this.#tellFull();
    }
    // With the last look at what waits, and not a step later: what came in between would have nobody to write it.
    this.#working = undefined;
  }

  /** The batch is dealt with. While it was, nothing was taken from the front but by the stop. */
  #done(count: number): void {
    this.#waiting.splice(0, count);
  }

  async #write(batch: readonly FactLine[]): Promise<void> {
    const aheadMs = await this.#clockAheadMs();
    // Its answer may have been lost: the same facts again are the same rows.
    const text = `insert into ${this.#plan.schema}.fact (id, at, service, kind, is_ok, user_id, ids, fields)
      select f.id, to_timestamp(f.at / 1000), f.service, f.kind, f.is_ok, f.user_id,
        array(select json_array_elements_text(f.ids)), f.fields
      from json_to_recordset($1::text::json) as f (id uuid, at float8, service text, kind text, is_ok boolean, user_id text,
        ids json, fields jsonb)
      on conflict do nothing`;
    const rows = batch.map(({ id, atMs, service, kind, isOk, userId, ids, fields }) => {
      const row = { id, at: atMs + aheadMs, service, kind, is_ok: isOk, user_id: userId, ids, fields };
      return row;
    });
    await this.#plan.link.query(text, [JSON.stringify(rows)]);
  }

  /**
   * How far the clock of the database is ahead of ours. Facts of several machines stand in one order then, beside what the
   * database has timed itself.
   */
  async #clockAheadMs(): Promise<number> {
    const { link, effects } = this.#plan;
    if (this.#clock && effects.monoMs() < this.#clock.goodUntilMs) return this.#clock.aheadMs;
    const ask = async (): Promise<{ readonly aheadMs: number; readonly tookMs: number }> => {
      const before = effects.now();
      const [row] = await link.query(`select (extract(epoch from clock_timestamp()) * 1000)::text`, []);
      const tookMs = effects.monoMs() - before.monoMs;
      return { aheadMs: Number(row?.[0]) - before.wallMs - tookMs / 2, tookMs };
    };
    // The first answer may have had to wait for the connection.
    await ask();
    const { aheadMs, tookMs } = await ask();
    const known = Math.abs(aheadMs) <= tookMs ? 0 : aheadMs;
    this.#clock = { aheadMs: known, goodUntilMs: effects.monoMs() + CLOCK_GOOD_MS };
    return known;
  }

  #tellFull(): void {
    const count = this.#untold;
    this.#untold = 0;
    if (count > 0) this.#tell({ count, reason: 'full' });
  }

  #lose(count: number, reason: FactLossReason, error?: unknown): void {
    this.#lost += count;
    this.#tell({ count, reason, ...(error === undefined ? {} : { error }) });
  }

  #tell(lost: LostFacts): void {
    try {
      this.#plan.onLost?.(lost);
    } catch {
      // Its own affair: a fact that is lost is no reason to lose anything else.
    }
  }
}

/** The database has refused these facts, and would again: what is wrong with them, or with the schema, does not pass. */
function isFinal(error: unknown): boolean {
  return /^(?:22|23|3F|42)/.test(sqlStateOf(error) ?? '');
}
