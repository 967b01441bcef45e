import { HOUSE_UNIT } from '../../relay/relay-store.ts';
import { HISTORY_SLOTS } from '../schema/messages.ts';

/** So many runs of a worker are told. */
const MOST_RUNS = 100;

/** Processes and tables, as one JSON document. */
export function systemStatement(schema: string): string {
  const runs = `select json_build_object('messageId', r.id, 'handler', h.service || '/' || h.name, 'attempt', r.attempt,
        'startedAt', r.started_at) as row, r.started_at
      from ${schema}.running r join ${schema}.lane l on l.id = r.unit / m.units join ${schema}.handler h on h.id = l.handler
      where r.worker = w.id order by r.started_at limit ${MOST_RUNS}`;
  const slots = Array.from(
    { length: HISTORY_SLOTS },
    (_, slot) => `(select d.done_at from ${schema}.delivered_${slot} d order by d.id limit 1)`,
  );
  return `select json_build_object('at', clock_timestamp(), 'server', current_setting('server_version'), 'isPaused', m.is_paused,
      'schemaVersion', (select max(version) from ${schema}.migration),
      'historySince', (select min(s.done_at) from (${slots.join(' union all ')}) s),
      'workers', coalesce((select json_agg(json_build_object('id', w.id, 'name', w.name, 'service', w.service,
          'generation', w.generation, 'joinedAt', w.joined_at, 'expiresAt', w.expires_at,
          'units', (select count(*) from ${schema}.lease l where l.owner = w.id and l.unit <> ${HOUSE_UNIT}),
          'isHousekeeper', exists (select from ${schema}.lease l where l.owner = w.id and l.unit = ${HOUSE_UNIT}),
          'running', coalesce((select json_agg(r.row order by r.started_at) from (${runs}) r), '[]')) order by w.service, w.name)
        from ${schema}.worker w where w.expires_at > clock_timestamp()), '[]'),
      'tables', coalesce((${tablesStatement(schema)}), '[]'))::text as row
    from ${schema}.meta m`;
}

/** The slots of the history are one table. */
function tablesStatement(schema: string): string {
  return `select json_agg(json_build_object('table', t.name, 'rows', t.rows, 'deadRows', t.dead, 'bytes', t.bytes,
        'indexBytes', t.index_bytes, 'vacuumedAt', t.vacuumed_at) order by t.bytes + t.index_bytes desc, t.name)
      from (select coalesce(p.relname, c.relname) as name, sum(pg_stat_get_live_tuples(c.oid)) as rows,
          sum(pg_stat_get_dead_tuples(c.oid)) as dead, sum(pg_table_size(c.oid)) as bytes, sum(pg_indexes_size(c.oid)) as index_bytes,
          max(greatest(pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid))) as vacuumed_at
        from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
        where c.relnamespace = '${schema}'::regnamespace and c.relkind = 'r' group by 1) t`;
}
