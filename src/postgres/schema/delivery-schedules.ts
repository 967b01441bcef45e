/**
 * What is published again and again. `input` is what it was made of, as it was given; `next_at` the time that is to be published next:
 * whoever moves it on has published that time, in the same commit.
 */
export function scheduleTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.http_schedule (
      id text primary key,
      input jsonb not null,
      is_paused boolean not null default false,
      created_at timestamptz not null default clock_timestamp(),
      next_at timestamptz,
      last_at timestamptz,
      last_error text,
      -- The ids of the messages of the last time.
      last_messages jsonb not null default '[]')`,
    `create index http_schedule_due on ${schema}.http_schedule (next_at) where not is_paused`,
    fireFunction(schema),
  ];
}

/**
 * Moves schedules on and takes their messages in. `claims`: `[{ id, place, expected, next, last, error, messages }]`; one whose `next_at` is not
 * the expected one was published by somebody else, or was changed, and is left alone. Answers how many were moved on; null: there is no
 * room for messages, and nothing was done.
 */
function fireFunction(schema: string): string {
  return `create function ${schema}.http_schedule_fire(claims text, about text, dedup_ms float8) returns int language plpgsql as $body$
    declare
      claimed text[];
      input text;
      bodies jsonb;
    begin
      if (select is_full from ${schema}.meta) then return null; end if;
      with c as materialized (
        select * from json_to_recordset(claims::json) as c (id text, expected timestamptz, next timestamptz, last timestamptz, error text, messages json)),
      locked as materialized (
        select s.id from ${schema}.http_schedule s join c on c.id = s.id and c.expected = s.next_at
        where not s.is_paused order by s.id for update of s),
      moved as (
        update ${schema}.http_schedule s set next_at = c.next, last_at = c.last, last_error = c.error,
          last_messages = coalesce((select jsonb_agg(m ->> 'id') from json_array_elements(c.messages) m
            where m ->> 'of_last' = 'true'), '[]')
        from locked l join c using (id) where s.id = l.id
        returning s.id)
      select coalesce(array_agg(m.id), '{}') into claimed from moved m;
      select json_agg(m)::text into input
        from json_to_recordset(claims::json) as c (id text, messages json), json_array_elements(c.messages) m
        where c.id = any (claimed);
      if input is not null then
        if about is not null then perform ${schema}.http_note(about); end if;
        -- Messages say which schedule's body is theirs.
        select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('body', s.input #> '{delivery,body}',
            'bodyBase64', s.input #> '{delivery,bodyBase64}')) order by c.place) into bodies
          from json_to_recordset(claims::json) as c (id text, place int) left join ${schema}.http_schedule s on s.id = c.id;
        perform ${schema}.http_take_in(input, true, dedup_ms, 'schedule', bodies);
      end if;
      return cardinality(claimed);
    end $body$`;
}
