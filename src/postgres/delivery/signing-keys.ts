import { open, seal } from '../../system/sealed-text.ts';
import type { SigningKeys } from '../../delivery/secrets.ts';
import { DEFAULT_TENANT } from '../../delivery/tenants.ts';
import type { Effects } from '../../kernel/effects.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { audited, auditParams } from './audited.ts';

type KeyPair = Awaited<ReturnType<SigningKeys['get']>>;

/** What signing keys are made of. */
export interface SigningKeyOptions {
  readonly secret: string | undefined;
  /** Stored for the tenant `default` instead of new ones where there are none yet. */
  readonly firstKeys: KeyPair | undefined;
  readonly effects: Effects;
}

/** How long the sender takes keys for what they were: a rotation in another process is seen after that. */
const KEPT_MS = 1_000;
const MOST_KEPT = 1_000;

/** The signing keys of each tenant, sealed. They are made when they are asked for the first time. */
export function signingKeys(
  sql: SqlRunner,
  schema: string,
  options: SigningKeyOptions,
): SigningKeys & { cached(tenant?: string): Promise<KeyPair> } {
  const { secret, effects } = options;
  const keysRead = `select current, next from ${schema}.http_signing_key where tenant = $1::text`;
  const keysShow = audited(schema, keysRead, 2);
  const keysMake = `insert into ${schema}.http_signing_key (tenant, current, next) values ($1::text, $2::text, $3::text)
    on conflict do nothing`;
  const keysTurn = audited(
    schema,
    `update ${schema}.http_signing_key set current = next, next = $3::text, updated_at = clock_timestamp()
      where tenant = $1::text and next = $2::text returning 1 as n`,
    4,
  );
  const kept = new Map<string, { readonly keys: Promise<KeyPair>; readonly untilMs: number }>();

  const read = async (tenant: string, statement = keysRead, entry: readonly SqlParam[] = []): Promise<KeyPair> => {
    const [row] = await sql.query(statement, [tenant, ...entry]);
    if (row !== undefined) return { current: String(row['current']), next: String(row['next']) };
    const first = tenant === DEFAULT_TENANT ? options.firstKeys : undefined;
    const { current, next } = first ?? { current: newKey(), next: newKey() };
    await sql.query(keysMake, [tenant, await seal(secret, current), await seal(secret, next)]);
    return read(tenant, statement, entry);
  };
  const opened = async ({ current, next }: KeyPair): Promise<KeyPair> => ({
    current: await open(secret, current),
    next: await open(secret, next),
  });
  return {
    get: async (tenant = DEFAULT_TENANT, by) =>
      opened(await read(tenant, keysShow, auditParams(by, 'read-signing-keys', { tenant }))),
    rotate: async (tenant = DEFAULT_TENANT, by) => {
      const { next } = await read(tenant);
      const entry = auditParams(by, 'rotate-signing-keys', { tenant });
      // Where somebody else has turned them since they were read they are turned, and once is what was asked for.
      await sql.query(keysTurn, [tenant, next, await seal(secret, newKey()), ...entry]);
      kept.delete(tenant);
      return opened(await read(tenant));
    },
    cached: (tenant = DEFAULT_TENANT) => {
      const nowMs = effects.monoMs();
      const known = kept.get(tenant);
      if (known !== undefined && nowMs < known.untilMs) return known.keys;
      if (kept.size >= MOST_KEPT) kept.clear();
      const keys = read(tenant).then(opened);
      kept.set(tenant, { keys, untilMs: nowMs + KEPT_MS });
      keys.catch(() => kept.delete(tenant));
      return keys;
    },
  };
}

const KEY_BYTES = 24;

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return `sig_${btoa(String.fromCharCode(...bytes))
    .replaceAll('+', 'x')
    .replaceAll('/', 'y')}`;
}
