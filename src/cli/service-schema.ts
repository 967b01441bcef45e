import { DEFAULT_SCHEMA } from '../postgres/schema-name.ts';
import type { SqlRunner } from '../postgres/sql-runner.ts';
import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import type { Database } from './database.ts';
import type { Io } from './io.ts';
import type { OptionValues } from './option-values.ts';

/** The schemas of this database that hold our tables and that this user may read. Other programs have a table `migration` too. */
const OUR_SCHEMAS = `select n.nspname::text as name from pg_catalog.pg_namespace n
  where n.nspname ~ '^[a-z_][a-z0-9_]{0,56}$' and has_schema_privilege(n.oid, 'usage')
    and exists (select from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = n.oid and c.relname = 'migration' and a.attname = 'serves')
    and exists (select from pg_catalog.pg_class c
      where c.relnamespace = n.oid and c.relname = 'handler' and has_table_privilege(c.oid, 'select'))
  order by 1`;

/**
 * The database, with the schema of the service that `--service` names: services on one database have a schema each. A schema that was named, by
 * `--schema` or HOLDFAST_SCHEMA, is never left: it may be there to keep staging and production apart.
 */
export async function withServiceSchema(
  database: Database,
  command: Pick<Command, 'options'>,
  options: OptionValues,
  { env }: Pick<Io, 'env'>,
): Promise<Database> {
  const service = options.text('service');
  const isNamed = options.has('schema') || (env['HOLDFAST_SCHEMA'] ?? '') !== '';
  // Where several services may be named, the command works on the whole schema.
  if (service === undefined || isNamed || command.options['service']?.multiple === true) return database;
  const schemas = await schemasOf(await database.sql(), service);
  if (schemas.length === 0 || schemas.includes(DEFAULT_SCHEMA)) return database;
  const [schema, ...others] = schemas;
  if (schema === undefined || others.length > 0) {
    throw usageError(
      `the service ${JSON.stringify(service)} is in the schemas ${schemas.join(', ')}; name one of them with --schema`,
    );
  }
  return { ...database, schema };
}

/** The schemas in which a service has registered handlers. */
async function schemasOf(sql: SqlRunner, service: string): Promise<readonly string[]> {
  const names = (await sql.query(OUR_SCHEMAS)).map(({ name }) => String(name));
  if (names.length === 0) return [];
  const each = names.map(
    (name) =>
      `select '${name}'::text as name where exists (select from "${name}".handler h where h.service = $1::text)`,
  );
  const found = await sql.query(each.join(' union all '), [service]);
  return found.map(({ name }) => String(name));
}
