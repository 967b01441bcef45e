import { counted } from '../counted.ts';
import type { Check, Finding } from './finding.ts';

/** Messages whose place at a broker is missing or closed. No finding where there are none. */
export const brokers: Check = async ({ sql, database }) => {
  const rows = await sql.query(
    `select h.service || '/' || h.name as handler, d.error ->> 'message' as problem, count(*)::text as count
    from "${database.schema}".delivery d join "${database.schema}".handler h on h.id = d.handler
    where d.state = 1 and d.error ->> 'code' in ('BROKER_REFUSED', 'KAFKA_TOPIC_REFUSED')
    group by 1, 2 order by count(*) desc, 1, 2 limit 5`,
    [],
  );
  return rows.map(({ handler, problem, count }): Finding => ({
    check: 'brokers',
    status: 'problem',
    found: `${counted(Number(count), 'message')} of ${String(handler)} ${count === '1' ? 'waits' : 'wait'}: ${String(problem)}`,
    next: 'put the broker right; what waits goes out by itself, within five minutes',
  }));
};
