import { OptionCheck } from '../../kernel/check-options.ts';
import type { EndedSessions } from '../../operator/ended-sessions.ts';
import { repeatedRunner } from '../repeated-runner.ts';
import { quotedSchema } from '../schema-name.ts';
import { type SqlConnection, sqlRunner } from '../sql-runner.ts';

/** What `postgresSessions` takes. */
export interface PostgresSessionsOptions {
  readonly pool: SqlConnection;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
}

/** The most that are kept; beyond it those go first whose time is over first. */
const MOST = 10_000;

/**
 * Logouts that hold for every process on this database: `operatorServer({ endedSessions: postgresSessions({ pool }) })`. A row for each
 * logout until its session would have ended, at most 10,000; a session itself is not kept, nor anything it could be made of.
 */
export function postgresSessions(options: PostgresSessionsOptions): EndedSessions {
  const check = new OptionCheck('postgresSessions()');
  if (check.object('options', options, 'pass { pool }')) check.known(options, ['pool', 'schema']);
  check.done();
  const table = `${quotedSchema('postgresSessions()', options.schema)}.ended_session`;
  const sql = repeatedRunner(sqlRunner(options.pool));
  return {
    end: async (mark, until) => {
      await sql.query(
        `with over as (delete from ${table} where until <= clock_timestamp()
          or mark in (select mark from ${table} order by until desc offset ${MOST - 1}))
        insert into ${table} (mark, until) values ($1::text, $2::text::timestamptz) on conflict (mark) do nothing`,
        [mark, until.toISOString()],
      );
    },
    has: async (mark) => (await sql.query(`select 1 as one from ${table} where mark = $1::text`, [mark])).length > 0,
  };
}
