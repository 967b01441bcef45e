import type { FlowRules } from '../../delivery/delivery-request.ts';
import type { LineSettings } from '../../delivery/line-settings.ts';
import type { Effects } from '../../kernel/effects.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { LAST_TRANSACTION } from './destinations.ts';
import { runsRegularly } from './regularly.ts';

type QueueSetting = NonNullable<ReturnType<LineSettings['queue']>>;
type FlowSetting = NonNullable<ReturnType<LineSettings['flow']>>;

interface Kept {
  /** Nothing: asked for, and not answered yet. */
  setting: QueueSetting | FlowSetting | undefined;
  askedMs: number;
}

/** A queue of which nothing is known any more: one after the other. */
const NO_QUEUE: QueueSetting = { parallelism: 1, isPaused: false };
const NO_LIMITS: FlowSetting = { isPaused: false };

const LOOK_EVERY_MS = 1_000;
/** What nobody has asked for this long is not followed any more. */
const KEPT_MS = 60_000;
/**
 * While somebody's transaction stays open, all that was changed since its beginning is read at each look: of that the latest. What is left
 * out was seen by a look before.
 */
const MOST_LOOKED_AT = 1_000;
/** Every so many looks all that is kept is fetched again: a row that was deleted is changed by nobody. */
const ALL_EVERY = 10;

/**
 * The settings of lines in memory: of those that are asked for. A line that is not known yet is fetched at once; afterwards, every
 * second, what has changed is read. `tx` of a row is the transaction that changed it, and a look reads again whatever had not ended at
 * the look before: no change is missed, however late it was committed.
 */
export class LineCopy {
  readonly #sql: SqlRunner;
  readonly #effects: Effects;
  readonly #fetchStatement: string;
  readonly #lookStatement: string;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(line: string) => void>();
  readonly #wanted = new Set<string>();
  #isFetching = false;
  #since: string | undefined;
  #looks = 0;
  #stop: (() => Promise<void>) | undefined;

  constructor(sql: SqlRunner, schema: string, effects: Effects) {
    this.#sql = sql;
    this.#effects = effects;
    const queues = (where: string): string => `select 'queue:' || q.name as line,
        json_build_object('parallelism', q.parallelism, 'isPaused', q.is_paused)::text as setting from ${schema}.http_queue q where ${where}`;
    const flows = (
      where: string,
    ): string => `select 'flow:' || f.key as line, json_build_object('parallelism', f.parallelism,
        'rate', f.rate, 'periodMs', f.period_ms, 'isPaused', f.is_paused)::text as setting from ${schema}.http_flow f where ${where}`;
    this.#fetchStatement = `${queues(`q.name ${named('queue:')}`)} union all ${flows(`f.key ${named('flow:')}`)}`;
    this.#lookStatement = `(${queues(changed('q'))}) union all (${flows(changed('f'))})
      union all select null, pg_snapshot_xmin(pg_current_snapshot())::text`;
  }

  /** What is said about a queue; nothing: not known yet. */
  queue(name: string): QueueSetting | undefined {
    return this.#get(`queue:${name}`) as QueueSetting | undefined;
  }

  flow(key: string): FlowSetting | undefined {
    return this.#get(`flow:${key}`);
  }

  onChange(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks every second from now on. */
  async open(): Promise<void> {
    if (this.#stop !== undefined) return;
    this.#stop = runsRegularly(this.#effects, LOOK_EVERY_MS, () => this.look());
    await this.look();
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  /** Reads what has changed since the look before. */
  async look(): Promise<void> {
    const rows = await this.#sql.query(this.#lookStatement, [this.#since ?? LAST_TRANSACTION]);
    const last = rows.find((row) => row['line'] === null);
    this.#take(
      rows.filter((row) => row !== last),
      true,
    );
    this.#since = String(last?.['setting']);
    this.#forget();
    this.#looks += 1;
    if (this.#looks % ALL_EVERY === 0 && this.#kept.size > 0) await this.#fetch([...this.#kept.keys()]);
    await this.#fetchWanted();
  }

  /** A line was changed here: others see it at their next look, this process at once. */
  async changed(line: string): Promise<void> {
    if (this.#kept.has(line)) await this.#fetch([line], true);
    else this.#tell(line);
  }

  #get(line: string): QueueSetting | FlowSetting | undefined {
    const nowMs = this.#effects.monoMs();
    const kept = this.#kept.get(line);
    if (kept !== undefined) {
      kept.askedMs = nowMs;
      return kept.setting;
    }
    this.#kept.set(line, { setting: undefined, askedMs: nowMs });
    this.#wanted.add(line);
    this.#fetchWanted().catch(() => undefined);
    return undefined;
  }

  /**
   * One statement at a time, for all that were asked for meanwhile. Where it fails the next look tries again: whoever has asked starts nothing
   * in that line until it is told, and asks no more.
   */
  async #fetchWanted(): Promise<void> {
    if (this.#isFetching) return;
    this.#isFetching = true;
    await Promise.resolve();
    try {
      while (this.#wanted.size > 0) {
        await this.#fetch([...this.#wanted]);
      }
    } finally {
      this.#isFetching = false;
    }
  }

  async #fetch(lines: readonly string[], isNews = false): Promise<void> {
    const rows = await this.#sql.query(this.#fetchStatement, [JSON.stringify(lines)]);
    for (const line of lines) this.#wanted.delete(line);
    const found = new Set(rows.map((row) => row['line']));
    const none = lines.filter((line) => !found.has(line));
    this.#take(rows, isNews);
    for (const line of none) this.#put(line, line.startsWith('queue:') ? NO_QUEUE : NO_LIMITS);
  }

  /** `isNews`: something was changed, although what is kept may look the same: a rate that begins anew. */
  #take(rows: readonly Record<string, unknown>[], isNews: boolean): void {
    for (const row of rows) {
      const fields = JSON.parse(String(row['setting'])) as Record<string, number | boolean | null>;
      const setting = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
      this.#put(String(row['line']), setting as unknown as FlowRules & { readonly isPaused: boolean }, isNews);
    }
  }

  #put(line: string, setting: QueueSetting | FlowSetting, isNews = false): void {
    const kept = this.#kept.get(line);
    if (kept === undefined ? !isNews : !isNews && isSame(kept.setting, setting)) return;
    // One that is not followed any more may be waited for all the same: whoever waits asks again.
    if (kept !== undefined) kept.setting = setting;
    this.#tell(line);
  }

  #tell(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }

  #forget(): void {
    const oldest = this.#effects.monoMs() - KEPT_MS;
    for (const [line, kept] of this.#kept) {
      // Nobody asks about one that is paused, and somebody waits for it to go on.
      if (kept.askedMs < oldest && kept.setting?.isPaused === false) this.#kept.delete(line);
    }
  }
}

function isSame(a: QueueSetting | FlowSetting | undefined, b: QueueSetting | FlowSetting): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

/** The names among the lines of $1 that are of a kind. */
function named(kind: string): string {
  return `in (select substr(l, ${kind.length + 1}) from json_array_elements_text($1::text::json) l where starts_with(l, '${kind}'))`;
}

/** The rows that have changed since $1, the latest first. */
function changed(row: string): string {
  return `${row}.tx >= $1::text::xid8 order by ${row}.tx desc limit ${MOST_LOOKED_AT}`;
}
