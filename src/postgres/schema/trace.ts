import { ID_FIELDS } from '../../operator/trace-rows.ts';
import { LINK_LENGTH } from '../fan-out.ts';
import { commandsStatement, findStatement, messagesStatement, prefixStatement } from '../trace/statements.ts';

/**
 * What lets one action be followed by any id of it.
 *
 *   trace_link  the messages that have a correlation or causation id of their own, by these ids (their first characters), and commands
 *               by the ids of the action that asked for them; and by the person they are about. Other messages have no row here: sending them costs what it did.
 *               Forgotten with the message
 *   fact        what leaves no row of its own elsewhere: requests at routes, outgoing calls (one for each attempt), runs that
 *               failed, notes. `ids` holds every id it can be found by but the person's, `fields` what is shown.
 *               Its id tells the time: forgetting the old ones needs no further index
 */
export function traceTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.trace_link (id text not null, message uuid not null, at timestamptz not null default now())`,
    `create index trace_link_id on ${schema}.trace_link (id)`,
    `create index trace_link_at on ${schema}.trace_link (at)`,
    `create table ${schema}.fact (
      id uuid primary key,
      at timestamptz not null,
      service text not null,
      kind text not null,
      is_ok boolean,
      user_id text,
      ids text[] not null,
      fields jsonb not null)`,
    // Written at once: what waits in a list to be written is read whole by every look-up, 14 ms of each.
    `create index fact_ids on ${schema}.fact using gin (ids) with (fastupdate = off)`,
    // The latest of one person: read in this order, however many there are.
    `create index fact_user on ${schema}.fact (user_id, id) where user_id is not null`,
    `create index inbox_source on ${schema}.inbox (left(source_id, ${LINK_LENGTH}))`,
  ];
}

/**
 * Under which a look-up is planned: one look into an index for each id. It never reads the whole history, whatever the estimates are
 * on the day: there may be millions of rows of it.
 */
export const LOOK_UP_SETTINGS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_custom_plan',
};

/** Links commands to the action that asked for them. */
function commandLinks(schema: string): readonly string[] {
  return [
    `create function ${schema}.trace_command() returns trigger language plpgsql as $body$
      begin
        insert into ${schema}.trace_link (id, message)
          select distinct left(c.value, ${LINK_LENGTH}), new.id from jsonb_each_text(new.correlation) c
          where c.key in (${ID_FIELDS.map((field) => `'${field}'`).join(', ')}) and c.value <> new.target;
        return null;
      end $body$`,
    `create trigger command_link after insert or update of correlation on ${schema}.command
      for each row execute function ${schema}.trace_command()`,
  ];
}

/** Answering "what belongs to these ids", and what commands need for it. After all tables. */
export function traceFunctions(schema: string): readonly string[] {
  const settings = Object.entries(LOOK_UP_SETTINGS)
    .map(([name, value]) => `set ${name} = ${value}`)
    .join(' ');
  const lookUp = (name: string, takes: string, gives: string, statement: string): string =>
    `create function ${schema}.${name}(${takes}) returns table (${gives}) language plpgsql stable ${settings} as $body$
      #variable_conflict use_column
      begin
        return query ${statement};
      end $body$`;
  return [
    ...commandLinks(schema),
    `create index command_user on ${schema}.command ((correlation ->> 'userId'), created_at)
      where correlation ->> 'userId' is not null`,
    lookUp('trace_find', 'text[], int, text[]', 'via text, found text', findStatement(schema)),
    lookUp('trace_commands', 'text[], int, boolean, text[]', 'found text', commandsStatement(schema)),
    lookUp('trace_prefix', 'uuid, uuid, int', 'found text', prefixStatement(schema)),
    lookUp('trace_messages', 'uuid[]', 'found text', messagesStatement(schema)),
  ];
}
