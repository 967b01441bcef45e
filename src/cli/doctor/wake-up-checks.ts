import { createSleep } from '../../kernel/sleep.ts';
import { firstRow } from '../../postgres/doctor/finding.ts';
import type { Check } from './finding.ts';

/** How long a notification may take before we say that it does not come. */
const HEARD_MS = 3_000;

/** Whether a pooler stands in between, and in a mode that changes the server process under one's feet. */
export const pooler: Check = async ({ database, sql }) => {
  const { processId } = await database.reserved();
  const { pid } = await firstRow(sql, 'select pg_backend_pid()::text as pid');
  const check = 'pooler';
  if (processId === undefined) return { check, status: 'ok', found: 'not known with postgres.js; see wake-up' };
  // A pooler answers the handshake itself, with a process id that it made up.
  if (String(processId) === pid) return { check, status: 'ok', found: 'none, the connection is direct' };
  const next =
    'works, but workers poll if it is in transaction mode; give them a direct connection to be woken at once';
  return { check, status: 'warning', found: 'a pooler stands before the database', next };
};

/** A notification sent from one connection reaches another. */
export const wakeUp: Check = async ({ io, database, sql }) => {
  const check = 'wake-up';
  // First: a notification into a full queue would only fail.
  const { usage = '0' } = await firstRow(sql, 'select pg_notification_queue_usage()::text as usage');
  if (Number(usage) >= 0.5) {
    const next =
      'find the session that listens and does not read: select * from pg_stat_activity order by state_change';
    const found = `the queue of notifications is ${Math.round(Number(usage) * 100)} % full, so none are sent`;
    return { check, status: 'warning', found, next };
  }
  const channel = `holdfast_doctor_${Math.floor(io.effects.random() * 1e9)}`;
  const heard = new AbortController();
  const before = io.effects.monoMs();
  await database.driver.listen(channel, () => heard.abort());
  await sql.query(`select pg_notify($1::text, '')::text`, [channel]);
  const isLate = await createSleep(io.effects)(HEARD_MS, heard.signal).then(
    () => true,
    () => false,
  );
  if (!isLate) {
    const took = Math.round(io.effects.monoMs() - before);
    return { check, status: 'ok', found: `LISTEN and NOTIFY work, ${took} ms` };
  }
  const next = 'workers poll instead, which is slower; give them a direct connection or a pooler in session mode';
  return { check, status: 'warning', found: `no notification came within ${HEARD_MS / 1_000} s`, next };
};
