import { DELIVERY_TYPE } from '../../delivery/delivery-request.ts';

/** Where as many stand behind dead letters, whoever is after them is not looked for. */
const MOST_LOOKS = 200;

/**
 * When the first in line of a unit was sent that waits for nobody to decide: what stands behind a dead letter of its key is held, and so is
 * an HTTP delivery whose queue or key is paused or whose destination's breaker is open. Those are told of by themselves, and not late.
 */
export function firstFree(schema: string, unit: string): string {
  return `select d.created_at from (
      select d.created_at, d.key, d.unit, d.seq, d.type from ${schema}.delivery d where d.unit = ${unit} and d.state = 0
      order by d.seq limit ${MOST_LOOKS}) d
    where not exists (select from ${schema}.delivery h where h.unit = d.unit and h.key = d.key and h.holds and h.state = 2)
      and not (d.type = '${DELIVERY_TYPE}' and case split_part(d.key, ':', 1)
        when 'to' then exists (select from ${schema}.http_destination b where b.destination = substr(d.key, 4) and (b.state <> 0 or b.is_held))
        when 'queue' then exists (select from ${schema}.http_queue q where q.name = substr(d.key, 7) and q.is_paused)
        else exists (select from ${schema}.http_flow f where f.key = substr(d.key, 6) and f.is_paused) end)
    order by d.seq limit 1`;
}
