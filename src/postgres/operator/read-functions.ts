import { systemStatement } from './system-statement.ts';
import { whyStatement } from './why-statement.ts';

/**
 * Reads of an operator that look into many places at once. As functions, because the server would take them for dear enough to be
 * compiled, which takes seconds where the read takes milliseconds; and only a function can refuse that.
 */
export function readFunctions(schema: string): readonly string[] {
  const read = (name: string, takes: string, statement: string): string =>
    `create function ${schema}.${name}(${takes}) returns setof text language sql stable set jit = off as $body$
      select found.row from (${statement}) found
    $body$`;
  return [read('system_facts', '', systemStatement(schema)), read('why_facts', 'text, text', whyStatement(schema))];
}
