/** What was set aside behind a dead letter of its key, and has not failed itself. */
const IS_PARKED = `d.error ->> 'code' = 'PARKED'`;

/** The verbs on a key of a handler whose line stands still. */
export function keyFunctions(schema: string): readonly string[] {
  return [releaseFunction(schema), skipFunction(schema)];
}

/** The dead letters of a key, locked in one order, as operators do it everywhere. */
function lockKey(schema: string): string {
  return `perform from ${schema}.delivery d where d.handler = p_handler and d.key = p_key and d.state = 2
      order by d.id, d.handler for update;`;
}

/** Replays what is parked between two places in line. */
function unpark(schema: string, above: string, below: string, how: string): string {
  return `select coalesce(${schema}.operator_replay(array_agg(d.id), array_agg(d.handler), null, p_actor, p_reason,
      jsonb_build_object('${how}', p_key)), 0) into v_count
      from ${schema}.delivery d where d.handler = p_handler and d.key = p_key and d.state = 2 and ${IS_PARKED}
        and d.seq > ${above} and d.seq < ${below} having count(*) > 0;`;
}

/** Nothing that failed holds the key any more; what was parked runs, in its order. Answers how many go on. */
function releaseFunction(schema: string): string {
  return `create function ${schema}.operator_release_key(p_handler smallint, p_key text, p_actor text, p_reason text)
  returns int language plpgsql as $$
  declare
    v_units int[];
    v_count int := 0;
    v_ready int;
  begin
    ${lockKey(schema)}
    with freed as (
      update ${schema}.delivery d set holds = false
      where d.handler = p_handler and d.key = p_key and d.state = 2 and d.holds returning d.unit)
    select array_agg(distinct unit) into v_units from freed;
    if v_units is null then return 0; end if;
    select count(*) into v_ready from ${schema}.delivery d where d.unit = any (v_units) and d.state = 0 and d.key = p_key;
    ${unpark(schema, '-1', String(Number.MAX_SAFE_INTEGER), 'releasedKey')}
    v_count := coalesce(v_count, 0) + v_ready;
    insert into ${schema}.audit (actor, verb, reason, handler, details)
      values (p_actor, 'release', p_reason, p_handler, jsonb_build_object('key', p_key, 'count', v_count));
    perform ${schema}.operator_poke(v_units);
    return v_count;
  end $$`;
}

/** Gives up the first of a key that failed; what was parked behind it runs, up to the next that failed. Answers its id. */
function skipFunction(schema: string): string {
  return `create function ${schema}.operator_skip_key(p_handler smallint, p_key text, p_actor text, p_reason text)
  returns uuid language plpgsql as $$
  declare
    v_head ${schema}.delivery;
    v_next bigint;
    v_count int;
  begin
    ${lockKey(schema)}
    select d.* into v_head from ${schema}.delivery d where d.handler = p_handler and d.key = p_key and d.state = 2
      order by d.seq limit 1;
    if not found then return null; end if;
    select min(d.seq) into v_next from ${schema}.delivery d where d.handler = p_handler and d.key = p_key and d.state = 2
      and d.holds and d.seq > v_head.seq and not coalesce(${IS_PARKED}, false);
    perform ${schema}.operator_discard(array[v_head.id], array[p_handler], false, 1::smallint, p_actor, p_reason,
      jsonb_build_object('key', p_key), 'skip');
    ${unpark(schema, 'v_head.seq', `coalesce(v_next, ${Number.MAX_SAFE_INTEGER})`, 'skippedKey')}
    return v_head.id;
  end $$`;
}
