import type { CommitTarget } from '../../relay/relay-store.ts';
import { ENVELOPE_COLUMNS } from '../schema/messages.ts';
import type { SqlParam } from '../sql-runner.ts';
import { fence, FENCED_ANSWER, IS_TARGET } from './fence.ts';
import { numberList } from './number-list.ts';

/**
 * Moves finished deliveries into the history, under the fence. The lists are numbers only and travel as the text of
 * arrays, which needs no quoting.
 */
export function finishStatement(schema: string): string {
  return `with ${fence(schema)},
    x as (
      select * from unnest($3::text::int[], $4::text::bigint[], $5::text::bigint[], $6::text::smallint[],
        $7::text::int[], $8::text::int[], $9::text::int[])
      as x (unit, epoch, seq, state, version, attempts, ms)),
    d as (
      delete from ${schema}.delivery d using x join f on f.unit = x.unit and f.epoch = x.epoch
      where ${IS_TARGET}
      returning d.*, x.attempts as ended, x.ms),
    kept as (
      insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, seq, duration_ms,
        first_failed_at, error, failure_history, ${ENVELOPE_COLUMNS})
      select (select slot from ${schema}.meta where one), id, handler, 0, version, ended, cycle, rerun, seq, ms,
        first_failed_at, error, failure_history, ${ENVELOPE_COLUMNS} from d)
    ${FENCED_ANSWER}`;
}

/** Calls the function that `finishStatement` is the body of. */
export function finishCall(schema: string): string {
  const params = Array.from({ length: 9 }, (_, i) => `$${i + 1}::text`).join(', ');
  return `select seqs, tokens from ${schema}.delivery_finish(${params})`;
}

/** The parameters of `finishCall`. */
export function finishParams(workerId: string, targets: readonly CommitTarget[]): readonly SqlParam[] {
  const column = (of: (target: CommitTarget) => number): string => numberList(targets.map(of));
  return [
    workerId,
    numberList(new Set(targets.map(({ token }) => token.unit))),
    column(({ token }) => token.unit),
    column(({ token }) => token.epoch),
    column(({ seq }) => seq),
    column(({ state }) => (state === 'ready' ? 0 : 1)),
    column(({ version }) => version),
    column(({ attempts }) => attempts),
    column(({ durationMs }) => Math.min(Math.round(durationMs), 2 ** 31 - 1)),
  ];
}
