import { DEFAULT_TENANT } from '../../delivery/tenants.ts';

/** The tenant that a stored name (an expression) belongs to; '' for the lines of endpoints, which are the server's. */
function tenantOf(name: string): string {
  return `case when starts_with(${name}, '@') then split_part(substr(${name}, 2), '/', 1)
    when starts_with(${name}, 'endpoint:') then '' else '${DEFAULT_TENANT}' end`;
}

/** Whether a stored name (an expression) belongs to the tenant that parameter `nth` names; null: all do. */
export function isTenants(name: string, nth: number): string {
  return `($${nth}::text is null or ${tenantOf(name)} = $${nth}::text)`;
}

/** A stored name (an expression) as its tenant knows it. */
export function ownNameSql(name: string): string {
  return `case when starts_with(${name}, '@') then substr(${name}, strpos(${name}, '/') + 1) else ${name} end`;
}

/** A name that a request (an expression) has in a field, as it is stored: `storedName` in SQL. */
export function storedNameSql(request: string, field: string): string {
  const name = `(${request} ->> '${field}')`;
  return `case when ${request} ? 'tenant' then '@' || (${request} ->> 'tenant') || '/' || ${name}
    when not ${request} ? 'endpointId' and (starts_with(${name}, '@') or starts_with(${name}, 'endpoint:'))
      then '@${DEFAULT_TENANT}/' || ${name} else ${name} end`;
}
