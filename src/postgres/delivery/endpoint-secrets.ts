import { open, seal } from '../../system/sealed-text.ts';
import type { ChangedBy } from '../../delivery/webhook-endpoints.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';

/** A receiver that is far behind may need them; more than these are never in use. */
const MOST_SECRETS = 10;

/** The secrets that sign now, as a list of what is sealed, the newest first. `e` is the endpoint. */
export const LIVE_SECRETS = `(select json_agg(s ->> 'sealed' order by n) from jsonb_array_elements(e.secrets) with ordinality as s (s, n)
    where (s ->> 'until')::timestamptz is null or (s ->> 'until')::timestamptz > clock_timestamp())`;

/** The secrets of endpoints. Sealed where they are kept. */
export class EndpointSecrets {
  readonly #sql: SqlRunner;
  readonly #schema: string;
  readonly #secret: string | undefined;

  constructor(sql: SqlRunner, schema: string, secret: string | undefined) {
    this.#sql = sql;
    this.#schema = schema;
    this.#secret = secret;
  }

  seal(text: string): Promise<string> {
    return seal(this.#secret, text);
  }

  async get(id: string, by: ChangedBy | undefined): Promise<readonly string[] | undefined> {
    const secretsRead = `select ${LIVE_SECRETS}::text as sealed from ${this.#schema}.http_endpoint e where e.id = $1::text`;
    const params = [id, ...auditParams(by, 'read-secrets', { endpoint: id })];
    const [row] = await this.#sql.query(audited(this.#schema, secretsRead, 2), params);
    return row && this.open(JSON.parse(String(row['sealed'])) as readonly string[]);
  }

  async open(sealed: readonly string[]): Promise<readonly string[]> {
    return Promise.all(sealed.map((text) => open(this.#secret, text)));
  }

  /** The new one first; the others until the grace has passed, or as long as they had. */
  async rotate(
    id: string,
    secret: string,
    graceHours: number,
    { actor, reason }: ChangedBy,
  ): Promise<{ readonly oldUntil: Date | undefined } | undefined> {
    const until = `clock_timestamp() + $3::text::float8 * interval '1 hour'`;
    const secretTurn = `with turned as (
        update ${this.#schema}.http_endpoint e set updated_at = clock_timestamp(), secrets = jsonb_build_array(jsonb_build_object('sealed', $2::text)) || coalesce((
          select jsonb_agg(jsonb_build_object('sealed', o.s ->> 'sealed', 'until', o.until) order by o.n) from (
            select s, n, least((s ->> 'until')::timestamptz, ${until}) as until from jsonb_array_elements(e.secrets) with ordinality as s (s, n)
            where (s ->> 'until')::timestamptz is null or (s ->> 'until')::timestamptz > clock_timestamp()
            order by n limit ${MOST_SECRETS - 1}) o where $3::text::float8 > 0), '[]')
        where e.id = $1::text returning e.id),
      audited as (insert into ${this.#schema}.audit (actor, verb, reason, details)
        select $4::text, 'rotate-secret', $5::text, jsonb_build_object('endpoint', id, 'graceHours', $3::text::float8) from turned)
      select (extract(epoch from ${until}) * 1000)::text as until_ms from turned`;
    const params = [id, await this.seal(secret), graceHours, actor, reason ?? null];
    const [row] = await this.#sql.query(secretTurn, params);
    if (row === undefined) return undefined;
    return { oldUntil: graceHours === 0 ? undefined : new Date(Number(row['until_ms'])) };
  }
}
