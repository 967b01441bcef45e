import { systemEffects } from '../system/effects.ts';
import { ANSWER_TIMEOUT_MS, withinLimit } from './driver/time-limit.ts';
import type { SqlRunner } from './sql-runner.ts';

/** The same, and what is not answered within `timeoutMs` rejects with `DATABASE_TIMEOUT`. The connection stays its owner's to end. */
export function boundedRunner(sql: SqlRunner, timeoutMs: number = ANSWER_TIMEOUT_MS): SqlRunner {
  return {
    ...sql,
    query: (text, params) => withinLimit(systemEffects, sql.query(text, params), () => undefined, timeoutMs),
  };
}
