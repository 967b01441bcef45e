import { firstRow } from '../../postgres/doctor/finding.ts';
import { addressOf } from '../database-target.ts';
import { formatDuration } from '../duration.ts';
import type { Check } from './finding.ts';

/** The database answers, and how fast. */
export const connection: Check = async ({ io, database, sql }) => {
  const before = io.effects.monoMs();
  await sql.query('select 1');
  const took = Math.round(io.effects.monoMs() - before);
  const found = `${addressOf(database.target)} (from ${database.target.from}), through ${database.driver.name}, ${took} ms a round trip`;
  return { check: 'connection', status: 'ok', found };
};

/** Clocks differ by so little that times people compare make sense. */
const CLOCK_MS = 5_000;

/** How far the clock here is from the server's. Only the server's decides what is due. */
export const clock: Check = async ({ io, sql }) => {
  const before = io.effects.now().wallMs;
  const { ms = '0' } = await firstRow(sql, `select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as ms`);
  const skew = Number(ms) - (before + io.effects.now().wallMs) / 2;
  const found = `this machine is ${Math.abs(skew) < 1_000 ? 'within a second of' : `${formatDuration(skew)} ${skew > 0 ? 'behind' : 'ahead of'}`} the database`;
  if (Math.abs(skew) <= CLOCK_MS) return { check: 'clock', status: 'ok', found };
  const next = 'set the clock by NTP: leases and retries go by the database, but deliverAt and --since are made here';
  return { check: 'clock', status: 'warning', found, next };
};
