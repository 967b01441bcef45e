import { isConflict } from './driver/database-error.ts';
import type { SqlRunner } from './sql-runner.ts';

/** How often a statement is run when the database asks for it, which it does under stricter isolation than read committed. */
const MAX_TRIES = 10;

/** The same over a pool, where each statement is a transaction of its own: one that was refused for a conflict is run again. */
export function repeatedRunner(sql: SqlRunner): SqlRunner {
  if (sql.inTransaction !== false) return sql;
  return {
    ...sql,
    query: async (text, params) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await sql.query(text, params);
        } catch (error) {
          if (attempt >= MAX_TRIES || !isConflict(error)) throw error;
        }
      }
    },
  };
}
