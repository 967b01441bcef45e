import type { MarkTarget, RelaySession, SettleAnswer, Settlement, SettleTarget } from '../../relay/relay-store.ts';
import { buryStatement, causeOf } from './bury.ts';
import { isFaultOfData } from '../driver/database-error.ts';
import type { Link, Row } from '../driver/driver.ts';
import { decodeFenced, fence, FENCED_ANSWER, IS_TARGET } from './fence.ts';
import { finishParams, finishCall } from './finish.ts';
import { numberList } from './number-list.ts';

type Done = Extract<Settlement, { readonly kind: 'done' }>;
type Dead = Extract<Settlement, { readonly kind: 'dead' }>;
type Ready = Extract<Settlement, { readonly kind: 'ready' }>;
type Waits = Exclude<Settlement, Done | Dead | Ready>;

/** The statements of settling, for one schema. */
export function settleStatements(
  schema: string,
): Readonly<Record<'finish' | 'fail' | 'bury' | 'lineUp' | 'mark' | 'unmark', string>> {
  return {
    finish: finishCall(schema),
    // A postponed delivery keeps its attempts and its retry state: nothing was tried.
    fail: `with ${fence(schema)},
      x as (
        select * from json_to_recordset($3::text::json) as x (unit int, epoch bigint, seq bigint, state smallint, version int,
          cycle int, kind text, delay_ms float8, attempts int, retry jsonb, error jsonb, duration_ms float8, holds boolean,
          faults jsonb)),
      d as (
        update ${schema}.delivery d set state = 1,
          due_at = clock_timestamp() + x.delay_ms * interval '1 millisecond',
          first_failed_at = case when x.kind = 'postpone' then d.first_failed_at else coalesce(d.first_failed_at, clock_timestamp()) end,
          holds = d.key is not null and x.holds,
          ran_at = coalesce(clock_timestamp() - x.duration_ms * interval '1 millisecond', d.ran_at),
          attempts = coalesce(x.attempts, d.attempts), retry = coalesce(x.retry, d.retry), error = x.error, starts = 0,
          faults = case when x.kind = 'postpone' then coalesce(x.faults, d.faults) else x.faults end
        from x join f on f.unit = x.unit and f.epoch = x.epoch where ${IS_TARGET} and d.cycle = x.cycle returning d.seq)
      ${FENCED_ANSWER}`,
    bury: buryStatement(schema),
    // With this transaction as the one that made it ready: so its reader hears of it, wherever that stands.
    lineUp: `with ${fence(schema)},
      x as (
        select * from json_to_recordset($3::text::json)
          as x (unit int, epoch bigint, seq bigint, state smallint, version int, cycle int)),
      d as (
        update ${schema}.delivery d set state = 0, due_at = null, holds = false, tx = pg_current_xact_id()
        from x join f on f.unit = x.unit and f.epoch = x.epoch where ${IS_TARGET} and d.cycle = x.cycle returning d.seq)
      ${FENCED_ANSWER}`,
    mark: `with ${fence(schema)},
      x as (
        select * from json_to_recordset($3::text::json)
          as x (unit int, epoch bigint, seq bigint, state smallint, version int, starts smallint)),
      d as (
        update ${schema}.delivery d set starts = x.starts
        from x join f on f.unit = x.unit and f.epoch = x.epoch where ${IS_TARGET} returning d.seq)
      ${FENCED_ANSWER}`,
    // Not under the fence: it lowers a suspicion and decides nothing.
    unmark: `update ${schema}.delivery d set starts = greatest(d.starts - 1, 0)
      where d.unit = $1::text::int and d.state in (0, 1) and d.seq = any ($2::text::bigint[])`,
  };
}

/** The writing half of a session. Batches spread over the links; one batch is one to four statements on one of them. */
export function settleActs(
  links: readonly [Link, ...Link[]],
  schema: string,
): Pick<RelaySession<never>, 'settle' | 'mark' | 'unmark'> {
  const statements = settleStatements(schema);
  const busy = new Map(links.map((link) => [link, 0]));
  const onFreest = async <T>(work: (link: Link) => Promise<T>): Promise<T> => {
    const link = links.reduce((best, one) => ((busy.get(one) ?? 0) < (busy.get(best) ?? 0) ? one : best));
    busy.set(link, (busy.get(link) ?? 0) + 1);
    try {
      return await work(link);
    } finally {
      busy.set(link, (busy.get(link) ?? 0) - 1);
    }
  };
  return {
    settle: (workerId, settlements) => onFreest((link) => new Settling(link, statements, workerId).settle(settlements)),
    mark: (workerId, targets) =>
      onFreest(async (link) => {
        const rows = await link.query(statements.mark, [
          workerId,
          unitsOf(targets),
          JSON.stringify(targets.map(markRow)),
        ]);
        return new Set(decodeFenced(rows).seqs);
      }),
    unmark: (unit, seqs) =>
      onFreest(async (link) => {
        await link.query(statements.unmark, [unit, numberList(seqs)]);
      }),
  };
}

/** One batch being written. */
class Settling {
  readonly #link: Link;
  readonly #statements: ReturnType<typeof settleStatements>;
  readonly #workerId: string;
  readonly #settled = new Set<number>();
  readonly #lost = new Set<number>();
  readonly #failed = new Map<number, unknown>();

  constructor(link: Link, statements: ReturnType<typeof settleStatements>, workerId: string) {
    this.#link = link;
    this.#statements = statements;
    this.#workerId = workerId;
  }

  async settle(settlements: readonly Settlement[]): Promise<SettleAnswer> {
    const done: Done[] = [];
    const waits: Waits[] = [];
    const dead: Dead[] = [];
    const ready: Ready[] = [];
    for (const settlement of settlements) {
      if (settlement.kind === 'done') done.push(settlement);
      else if (settlement.kind === 'dead') dead.push(settlement);
      else if (settlement.kind === 'ready') ready.push(settlement);
      else waits.push(settlement);
    }
    await this.#write(done, (batch) => this.#link.query(this.#statements.finish, finishParams(this.#workerId, batch)));
    await this.#write(waits, (batch) => this.#send(this.#statements.fail, batch, waitingRow));
    await this.#write(dead, (batch) => this.#send(this.#statements.bury, batch, deadRow));
    await this.#write(ready, (batch) => this.#send(this.#statements.lineUp, batch, targetRow));
    const answer = { settled: this.#settled, lostUnits: this.#lost };
    return this.#failed.size === 0 ? answer : { ...answer, failed: this.#failed };
  }

  async #send<S extends Settlement>(
    statement: string,
    batch: readonly S[],
    rowOf: (one: S) => object,
  ): Promise<readonly Row[]> {
    return this.#link.query(statement, [this.#workerId, unitsOf(batch), JSON.stringify(batch.map(rowOf))]);
  }

  /** Writes a batch in one statement. One that a row is at fault for is halved until that row is alone; the others go on. */
  async #write<S extends Settlement>(
    batch: readonly S[],
    run: (part: readonly S[]) => Promise<readonly Row[]>,
  ): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    try {
      this.#take(batch, await run(batch));
    } catch (error) {
      if (!isFaultOfData(error)) throw error;
      if (batch.length === 1) {
        this.#failed.set(first.seq, error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await this.#write(batch.slice(0, middle), run);
      await this.#write(batch.slice(middle), run);
    }
  }

  #take(batch: readonly Settlement[], rows: readonly Row[]): void {
    const fenced = decodeFenced(rows);
    for (const seq of fenced.seqs) this.#settled.add(seq);
    for (const { token } of batch) if (!fenced.isHeld(token)) this.#lost.add(token.unit);
  }
}

function unitsOf(targets: readonly SettleTarget[]): string {
  return numberList(new Set(targets.map(({ token }) => token.unit)));
}

function targetRow({ token, seq, state, version, cycle }: SettleTarget): object {
  return { unit: token.unit, epoch: token.epoch, seq, state: state === 'ready' ? 0 : 1, version, cycle };
}

function markRow(target: MarkTarget): object {
  return { ...targetRow(target), starts: target.starts };
}

function waitingRow(settlement: Waits): object {
  const { kind, error, holds, delayMs: delay_ms, faults } = settlement;
  const row = { ...targetRow(settlement), kind, error, holds, delay_ms, faults };
  if (kind === 'postpone') return row;
  const { attempts, retry, durationMs: duration_ms } = settlement;
  return { ...row, attempts, retry, duration_ms };
}

function deadRow(settlement: Dead): object {
  const { attempts, error, holds, durationMs: duration_ms, behind } = settlement;
  return { ...targetRow(settlement), attempts, error, holds, duration_ms, ...causeOf(error), behind };
}
