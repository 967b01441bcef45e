import type { RelaySession } from '../../relay/relay-store.ts';
import type { Driver, Link } from '../driver/driver.ts';

// A server that recovered from a crash of one of its sessions has not been started anew, but has lost its statistics.
const INCARNATION = `select case when not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
  then pg_postmaster_start_time()::text || ' ' || coalesce((select stats_reset from pg_stat_bgwriter)::text, '') end`;

/** Tells one start of a server that takes writes from another. */
export function incarnationAct(link: Link, driver: Driver<unknown>): RelaySession<never>['incarnation'] {
  return async () => {
    const [row] = await link.query(INCARNATION, []);
    const text = row?.[0];
    if (typeof text !== 'string') throw new Error('the database takes no writes');
    return `${text} ${driver.losses?.() ?? 0}`;
  };
}
