import type { EndpointSight, SenderStore } from '../../delivery/sender-store.ts';
import type { Effects } from '../../kernel/effects.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { EndpointSecrets, LIVE_SECRETS } from './endpoint-secrets.ts';

/** How long an endpoint is taken for what it was: a change in another process is seen after that. */
const KEPT_MS = 1_000;
const MOST_KEPT = 10_000;

interface Seen {
  readonly sight: EndpointSight | 'disabled' | undefined;
  readonly isFailing: boolean;
}

interface SightRules {
  readonly secret: string | undefined;
  readonly effects: Effects;
  readonly failingMs: number;
  /** Is told the line of an endpoint that was disabled. */
  readonly onChanged: (line: string) => Promise<void>;
}

/** What the sender asks and tells of endpoints. An endpoint that does well costs it nothing. */
export function endpointSights(
  sql: SqlRunner,
  schema: string,
  { secret, effects, failingMs, onChanged }: SightRules,
): Pick<SenderStore, 'endpoint' | 'noteEndpoint'> & { readonly forget: (id: string) => void } {
  const secrets = new EndpointSecrets(sql, schema, secret);
  const sightRead = `select json_build_object('url', e.url, 'headers', e.headers, 'timeoutMs', e.timeout_ms, 'isEnabled', e.is_enabled,
      'isFailing', e.failing_since is not null, 'sealed', ${LIVE_SECRETS})::text as row
    from ${schema}.http_endpoint e where e.id = $1::text`;
  const noteCall = `select ${schema}.http_endpoint_note($1::text, $2::text, $3::text::float8) as because`;
  const kept = new Map<string, { readonly seen: Promise<Seen>; readonly untilMs: number }>();
  const look = async (id: string): Promise<Seen> => {
    const [row] = await sql.query(sightRead, [id]);
    if (row === undefined) return { sight: undefined, isFailing: false };
    const { url, headers, timeoutMs, isEnabled, isFailing, sealed } = JSON.parse(String(row['row'])) as {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly timeoutMs: number | null;
      readonly isEnabled: boolean;
      readonly isFailing: boolean;
      readonly sealed: readonly string[];
    };
    if (!isEnabled) return { sight: 'disabled', isFailing };
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    const sight = { url, headers: lists, secrets: await secrets.open(sealed), timeoutMs: timeoutMs ?? undefined };
    return { sight, isFailing };
  };
  const seenOf = (id: string): Promise<Seen> => {
    const nowMs = effects.monoMs();
    const known = kept.get(id);
    if (known !== undefined && nowMs < known.untilMs) return known.seen;
    if (kept.size >= MOST_KEPT) kept.clear();
    const seen = look(id);
    kept.set(id, { seen, untilMs: nowMs + KEPT_MS });
    seen.catch(() => kept.delete(id));
    return seen;
  };
  return {
    endpoint: async (id) => (await seenOf(id)).sight,
    noteEndpoint: async (id, answer) => {
      if (answer === 'well' && !(await seenOf(id)).isFailing) return;
      const [row] = await sql.query(noteCall, [id, answer, failingMs]);
      kept.delete(id);
      if (typeof row?.['because'] === 'string') await onChanged(`flow:endpoint:${id}`);
    },
    forget: (id) => void kept.delete(id),
  };
}
