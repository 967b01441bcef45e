/** Where as many stand behind dead letters, whoever is after them is not looked for. */
const MOST_LOOKS = 200;

/**
 * When the first in line of a unit was sent that stands behind no dead letter of its key: what is held is not late, it waits for
 * somebody to decide.
 */
export function firstFree(schema: string, unit: string): string {
  return `select d.created_at from (
      select d.created_at, d.key, d.unit, d.seq from ${schema}.delivery d where d.unit = ${unit} and d.state = 0
      order by d.seq limit ${MOST_LOOKS}) d
    where not exists (select from ${schema}.delivery h where h.unit = d.unit and h.key = d.key and h.holds and h.state = 2)
    order by d.seq limit 1`;
}
