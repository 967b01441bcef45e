import type { UrlGroupRecord, UrlGroups } from '../../delivery/line-settings.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';
import { isTenants } from './tenant-sql.ts';

const RECORD = `json_build_object('name', g.name, 'createdAt', g.created_at, 'updatedAt', g.updated_at, 'endpoints', g.endpoints)::text as row`;

/** The endpoints `old` without those that one of `given` names by its address or its name. */
function without(old: string, given: string): string {
  return `coalesce((select jsonb_agg(e.item order by e.place) from jsonb_array_elements(${old}) with ordinality e (item, place)
      where not exists (select from jsonb_array_elements(${given}) n
        where n ->> 'url' = e.item ->> 'url' or n ->> 'name' = e.item ->> 'name')), '[]')`;
}

/** Names for several addresses. */
export function urlGroups(sql: SqlRunner, schema: string): UrlGroups {
  const groupGet = `select ${RECORD} from ${schema}.http_group g where g.name = $1::text`;
  const groupList = `select ${RECORD} from ${schema}.http_group g where ${isTenants('g.name', 1)} order by g.name`;
  const groupAdd = audited(
    schema,
    `insert into ${schema}.http_group as g (name, endpoints) values ($1::text, $2::text::jsonb)
    on conflict (name) do update set endpoints = ${without('g.endpoints', 'excluded.endpoints')} || excluded.endpoints,
      updated_at = clock_timestamp() returning 1 as n`,
    3,
  );
  const groupRemove = audited(
    schema,
    `update ${schema}.http_group g set endpoints = ${without('g.endpoints', '$2::text::jsonb')},
    updated_at = clock_timestamp() where g.name = $1::text returning 1 as n`,
    3,
  );
  const groupDelete = audited(schema, `delete from ${schema}.http_group where name = $1::text returning 1 as n`, 2);
  const groupDeleteEmpty = `delete from ${schema}.http_group where name = $1::text and endpoints = '[]'`;
  return {
    get: async (name) => {
      const [row] = await sql.query(groupGet, [name]);
      return row && toGroup(row);
    },
    list: async (tenant) => (await sql.query(groupList, [tenant ?? null])).map(toGroup),
    addEndpoints: async (name, endpoints, by) => {
      const entry = auditParams(by, 'change-group', { group: name, added: endpoints });
      await sql.query(groupAdd, [name, JSON.stringify(lastOfEach(endpoints)), ...entry]);
    },
    removeEndpoints: async (name, endpoints, by) => {
      const entry = auditParams(by, 'change-group', { group: name, removed: endpoints });
      const found = await sql.query(groupRemove, [name, JSON.stringify(endpoints), ...entry]);
      await sql.query(groupDeleteEmpty, [name]);
      return found.length > 0;
    },
    delete: async (name, by) =>
      (await sql.query(groupDelete, [name, ...auditParams(by, 'delete-group', { group: name })])).length > 0,
  };
}

/** Of two with one name or address in one call the last is meant. */
function lastOfEach(endpoints: UrlGroupRecord['endpoints']): UrlGroupRecord['endpoints'] {
  return endpoints.filter(
    (one, at) =>
      !endpoints.slice(at + 1).some(({ name, url }) => url === one.url || (name !== undefined && name === one.name)),
  );
}

function toGroup(row: Record<string, unknown>): UrlGroupRecord {
  return readRecord<UrlGroupRecord>(readJson(row, 'row') as Fields, ['createdAt', 'updatedAt']);
}
