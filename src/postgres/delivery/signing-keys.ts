import { open, seal } from '../../system/sealed-text.ts';
import type { SigningKeys } from '../../delivery/secrets.ts';
import type { Effects } from '../../kernel/effects.ts';
import type { SqlRunner } from '../sql-runner.ts';

type KeyPair = Awaited<ReturnType<SigningKeys['get']>>;

/** What signing keys are made of. */
export interface SigningKeyOptions {
  readonly secret: string | undefined;
  /** Stored instead of new ones where there are none yet. */
  readonly firstKeys: KeyPair | undefined;
  readonly effects: Effects;
}

/** How long the sender takes keys for what they were: a rotation in another process is seen after that. */
const KEPT_MS = 1_000;

/** The signing keys, sealed. They are made when they are asked for the first time. */
export function signingKeys(
  sql: SqlRunner,
  schema: string,
  options: SigningKeyOptions,
): SigningKeys & { cached(): Promise<KeyPair> } {
  const { secret, effects } = options;
  const keysRead = `select current, next from ${schema}.http_signing_key`;
  const keysMake = `insert into ${schema}.http_signing_key (current, next) values ($1::text, $2::text) on conflict do nothing`;
  const keysTurn = `update ${schema}.http_signing_key set current = next, next = $2::text, updated_at = clock_timestamp()
    where next = $1::text`;
  let kept: { readonly keys: Promise<KeyPair>; readonly untilMs: number } | undefined;

  const read = async (): Promise<{ readonly current: string; readonly next: string }> => {
    const [row] = await sql.query(keysRead);
    if (row !== undefined) return { current: String(row['current']), next: String(row['next']) };
    const { current, next } = options.firstKeys ?? { current: newKey(), next: newKey() };
    await sql.query(keysMake, [await seal(secret, current), await seal(secret, next)]);
    return read();
  };
  const get = async (): Promise<KeyPair> => {
    const { current, next } = await read();
    return { current: await open(secret, current), next: await open(secret, next) };
  };
  const rotate = async (): Promise<KeyPair> => {
    const { next } = await read();
    // Where somebody else has turned them since they were read they are turned, and once is what was asked for.
    await sql.query(keysTurn, [next, await seal(secret, newKey())]);
    kept = undefined;
    return get();
  };
  return {
    get,
    rotate,
    cached: () => {
      const nowMs = effects.monoMs();
      if (kept !== undefined && nowMs < kept.untilMs) return kept.keys;
      const keys = get();
      kept = { keys, untilMs: nowMs + KEPT_MS };
      keys.catch(() => (kept = undefined));
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
