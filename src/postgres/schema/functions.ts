import { fanOut } from '../fan-out.ts';
import { finishStatement } from '../relay/finish.ts';
import { wakeChannel, wakeStatement } from '../relay/wake-statement.ts';

/**
 * The statements that run once for every message, as functions: their plans are kept by the session, whatever client or pooler
 * is in between. Planning was two thirds of what a single send cost the server (0.84 ms, 0.31 ms as a function).
 */
export function hotFunctions(schema: string): readonly string[] {
  const wake = wakeStatement(schema, wakeChannel(schema.slice(1, -1))).replace(/^select/, 'perform');
  const text = Array.from({ length: 9 }, () => 'text').join(', ');
  return [
    // Nothing was written: the outbox is full. Each message is at least one row.
    `create function ${schema}.delivery_append(input text) returns text language plpgsql as $body$
      declare
        written bigint;
      begin
        ${fanOut(schema)};
        get diagnostics written = row_count;
        if written = 0 then
          return 'full';
        end if;
        ${wake};
        return null;
      end $body$`,
    `create function ${schema}.delivery_finish(${text}, out seqs text, out tokens text) language plpgsql as $body$
      #variable_conflict use_column
      begin
        ${finishStatement(schema)} into seqs, tokens;
      end $body$`,
  ];
}
