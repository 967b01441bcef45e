import { fanOut, linkMessages, MESSAGE_INPUT } from '../fan-out.ts';
import { finishStatement } from '../relay/finish.ts';
import { loadStatement, readStatement } from '../relay/read.ts';
import { wakeChannel, wakeStatement } from '../relay/wake-statement.ts';

/**
 * Under which the plans of the functions are made and kept. Planning the read took six times as long as the read. A plan may be
 * made while the table is empty and must serve a million rows, minutes before they are analysed: it never reads the whole table,
 * whatever the estimate. The rows of a read are handed on in memory.
 */
export const KEPT_PLAN_SETTINGS: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  work_mem: "'64MB'",
};

/** The same as a function takes it. */
export const KEPT_PLAN: string = Object.entries(KEPT_PLAN_SETTINGS)
  .map(([name, value]) => `set ${name} = ${value}`)
  .join(' ');

/**
 * The statements that run once for every message or every read, as functions: their plans are kept by the session, whatever
 * client or pooler is in between. Planning was two thirds of what a single send cost the server.
 */
export function hotFunctions(schema: string): readonly string[] {
  return [
    appendFunction(schema, 'delivery_append', fanOut(schema, 'unit_count')),
    // Read out of its text once, for both inserts.
    appendFunction(
      schema,
      'delivery_append_linked',
      `with m as materialized (select * from ${MESSAGE_INPUT}), linked as (${linkMessages(schema, 'true', 'm')})
        ${fanOut(schema, 'unit_count', 'm')} order by m.place`,
    ),
    `create function ${schema}.delivery_read(${texts(7)})
      returns table (kind int, unit int, seq bigint, id uuid, type text, key text, payload text, source text, created bigint,
        traceparent text, rest text) language plpgsql stable ${KEPT_PLAN} as $body$
      #variable_conflict use_column
      begin
        return query ${readStatement(schema)};
      end $body$`,
    `create function ${schema}.delivery_load(${texts(1)})
      returns table (unit int, poke bigint, key text, seq bigint, state smallint) language plpgsql stable ${KEPT_PLAN} as $body$
      #variable_conflict use_column
      begin
        return query ${loadStatement(schema)};
      end $body$`,
    `create function ${schema}.delivery_finish(${texts(9)}, out seqs text, out tokens text) language plpgsql ${KEPT_PLAN} as $body$
      #variable_conflict use_column
      begin
        ${finishStatement(schema)} into seqs, tokens;
      end $body$`,
  ];
}

/** Sends what is in its text while there is room: answers 'full' where there is none. */
function appendFunction(schema: string, name: string, insert: string): string {
  const wake = wakeStatement(schema, wakeChannel(schema.slice(1, -1))).replace(/^select/, 'perform');
  return `create function ${schema}.${name}(input text) returns text language plpgsql as $body$
      declare
        unit_count int;
        has_no_room boolean;
      begin
        select units, is_full into unit_count, has_no_room from ${schema}.meta;
        if has_no_room then
          return 'full';
        end if;
        ${insert};
        ${wake};
        return null;
      end $body$`;
}

/** The types of so many parameters. Everything travels as text. */
function texts(count: number): string {
  return Array.from({ length: count }, () => 'text').join(', ');
}
