import type { ApiTokenRecord, ApiTokens } from '../../delivery/secrets.ts';
import { checkTenant, DEFAULT_TENANT } from '../../delivery/tenants.ts';
import type { Effects } from '../../kernel/effects.ts';
import { newId } from '../../system/new-id.ts';
import { sha256 } from '../../system/sha256.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';

const TOKEN_BYTES = 32;
/** How long a token is taken for what it was: one that is revoked in another process works as long. */
const KEPT_MS = 5_000;
const MOST_KEPT = 1_000;

const RECORD = `json_build_object('id', t.id, 'name', t.name, 'scopes', t.scopes, 'tenant', t.tenant, 'createdAt', t.created_at,
    'lastUsedAt', t.last_used_at)::text as row`;

/** Tokens of the API, by their hashes: a token of 256 random bits needs no slow one. */
export function apiTokens(sql: SqlRunner, schema: string, effects: Effects): ApiTokens {
  const tokenMake = audited(
    schema,
    `insert into ${schema}.http_token (id, name, hash, scopes, tenant)
      values ($1::text::uuid, $2::text, $3::text, $4::text::jsonb, $5::text) returning 1 as n`,
    6,
  );
  const tokenList = `select ${RECORD} from ${schema}.http_token t order by t.id`;
  // Its name is in the audit already: who made it wrote it there, beside the id.
  const tokenRevoke = audited(schema, `delete from ${schema}.http_token where id = $1::text::uuid returning 1 as n`, 2);
  // That it was used is written once a minute: it is for people.
  const tokenFind = `with used as (
      update ${schema}.http_token set last_used_at = clock_timestamp() where hash = $1::text
        and coalesce(last_used_at < clock_timestamp() - interval '1 minute', true))
    select ${RECORD} from ${schema}.http_token t where t.hash = $1::text`;
  const kept = new Map<string, { readonly record: Promise<ApiTokenRecord | undefined>; readonly untilMs: number }>();
  return {
    create: async (name, scopes, { tenant = DEFAULT_TENANT, by } = {}) => {
      checkTenant('tokens.create()', tenant);
      const id = newId();
      const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
      const random = btoa(String.fromCharCode(...bytes))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '');
      const token = `hf_${random}`;
      const entry = auditParams(by, 'create-token', { token: id, name, scopes, tenant });
      await sql.query(tokenMake, [id, name, sha256(token), JSON.stringify(scopes), tenant, ...entry]);
      return { id, token };
    },
    list: async () => (await sql.query(tokenList)).map(toToken),
    revoke: async (id, by) => {
      kept.clear();
      if (!UUID.test(id)) return false;
      return (await sql.query(tokenRevoke, [id, ...auditParams(by, 'revoke-token', { token: id })])).length > 0;
    },
    verify: (token) => {
      const hash = sha256(token);
      const nowMs = effects.monoMs();
      const known = kept.get(hash);
      if (known !== undefined && nowMs < known.untilMs) return known.record;
      // Whoever guesses fills it with what is wrong: it is emptied, and what is right is asked for again.
      if (kept.size >= MOST_KEPT) kept.clear();
      const record = sql.query(tokenFind, [hash]).then(([row]) => row && toToken(row));
      kept.set(hash, { record, untilMs: nowMs + KEPT_MS });
      record.catch(() => kept.delete(hash));
      return record;
    },
  };
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function toToken(row: Record<string, unknown>): ApiTokenRecord {
  return readRecord<ApiTokenRecord>(readJson(row, 'row') as Fields, ['createdAt', 'lastUsedAt']);
}
