import { counted } from '../../operator/words.ts';
import type { CheckFinding, DatabaseCheck } from './finding.ts';

/** So many waiting deliveries are looked at. */
const MOST = 10_000;

/** Messages whose place at a broker is missing or closed. No finding where there are none. */
export const brokers: DatabaseCheck = async ({ sql, schema }) => {
  const rows = await sql.query(
    `select h.service || '/' || h.name as handler, d.error ->> 'message' as problem, count(*)::text as count
    from (select * from "${schema}".delivery where state = 1 limit ${MOST}) d join "${schema}".handler h on h.id = d.handler
    where d.error ->> 'code' in ('BROKER_REFUSED', 'KAFKA_TOPIC_REFUSED')
    group by 1, 2 order by count(*) desc, 1, 2 limit 5`,
    [],
  );
  return rows.map(({ handler, problem, count }): CheckFinding => ({
    check: 'brokers',
    status: 'problem',
    found: `${counted(Number(count), 'message')} of ${String(handler)} ${count === '1' ? 'waits' : 'wait'}: ${String(problem)}`,
    next: 'put the broker right; what waits goes out by itself, within five minutes',
  }));
};
