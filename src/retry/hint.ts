import { parseHttpDate } from './http-date.ts';

/** What a server said about when to come back. Already parsed and finite; never a raw header. */
export interface Hint {
  /** How long to wait, at least. Absent when the server only said yes or no. */
  readonly afterMs?: number;
  /** The server's own verdict (`x-should-retry`). */
  readonly retry?: boolean;
  /** The header or field it came from. */
  readonly source: string;
}

/**
 * Response headers in any of the shapes clients hand out: something with `get(name)` (`Headers`, gRPC metadata), or a
 * plain record with names in any case and values that are strings or lists of strings.
 */
export type HeaderSource = { get(name: string): unknown } | { readonly [name: string]: unknown };

/**
 * What the headers of a failed answer say about when to come back, or `undefined` when they say nothing usable.
 *
 * First one with a usable delay wins: `retry-after-ms`, `x-ms-retry-after-ms` and `x-amz-retry-after` (milliseconds),
 * `retry-after` (seconds or an HTTP date), and for status 429 only `ratelimit`, `ratelimit-reset` and
 * `x-ratelimit-reset`, unless they say that something remains. Numbers are digits with an optional fraction; anything
 * else, zero and the past are no hint. Of two values of one header the larger counts: a hint is a floor, so it
 * satisfies both. A date is measured from the answer's own `date` when there is one, so that a skewed clock does no harm;
 * `nowWallMs` (epoch milliseconds) stands in for it.
 *
 * `x-should-retry` is a verdict. `grpc-retry-pushback-ms` is a delay, or the verdict "no" when it is negative or rubbish.
 */
export function readHint(headers: HeaderSource, nowWallMs: number, status?: number): Hint | undefined {
  const pushback = readPushback(headers);
  if (pushback) return pushback;
  const delay = readDelay(headers, nowWallMs, status);
  const retry = readVerdict(headers);
  if (retry === undefined) return delay;
  return delay ? { ...delay, retry } : { retry, source: 'x-should-retry' };
}

const MILLISECOND_HEADERS = ['retry-after-ms', 'x-ms-retry-after-ms', 'x-amz-retry-after'] as const;

const READ = [
  ...MILLISECOND_HEADERS,
  'retry-after',
  'date',
  'ratelimit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-should-retry',
  'grpc-retry-pushback-ms',
] as const;

type HintHeader = (typeof READ)[number];

/** The lower-case names of all headers that `readHint` reads: what to keep of an answer so that its hint survives. */
export const HINT_HEADERS: readonly string[] = READ;

// The comma after the name of a weekday belongs to the date.
const BETWEEN_VALUES = /(?<!Mon|Tue|Wed|Thu|Fri|Sat|Sun|day),/;

function readDelay(headers: HeaderSource, nowWallMs: number, status: number | undefined): Hint | undefined {
  for (const source of MILLISECOND_HEADERS) {
    const afterMs = largest(valuesOf(headers, source).map(parseNumber));
    if (afterMs !== undefined) return { afterMs, source };
  }
  const serverNowMs = parseHttpDate(valuesOf(headers, 'date')[0] ?? '', nowWallMs) ?? nowWallMs;
  const waits = valuesOf(headers, 'retry-after').map((text) => seconds(text) ?? untilDate(text, serverNowMs));
  const afterMs = largest(waits);
  if (afterMs !== undefined) return { afterMs, source: 'retry-after' };
  return status === 429 ? readRateLimit(headers, serverNowMs) : undefined;
}

function readVerdict(headers: HeaderSource): boolean | undefined {
  const said = valuesOf(headers, 'x-should-retry').map((text) => text.toLowerCase());
  if (said.includes('false')) return false;
  return said.includes('true') ? true : undefined;
}

function readPushback(headers: HeaderSource): Hint | undefined {
  const source = 'grpc-retry-pushback-ms';
  const values = valuesOf(headers, source);
  if (values.length === 0) return undefined;
  if (!values.every((text) => /^\d+$/.test(text))) return { retry: false, source };
  const afterMs = largest(values.map(parseNumber));
  return afterMs === undefined ? undefined : { afterMs, source };
}

function readRateLimit(headers: HeaderSource, serverNowMs: number): Hint | undefined {
  const afterMs = largest(spentWindows(valuesOf(headers, 'ratelimit')));
  if (afterMs !== undefined) return { afterMs, source: 'ratelimit' };
  for (const prefix of ['', 'x-'] as const) {
    const source = `${prefix}ratelimit-reset` as const;
    const remaining = valuesOf(headers, `${prefix}ratelimit-remaining`);
    if (remaining.some((text) => parseNumber(text) !== 0)) continue;
    const resetMs = largest(valuesOf(headers, source).map((text) => untilReset(text, serverNowMs)));
    if (resetMs !== undefined) return { afterMs: resetMs, source };
  }
  return undefined;
}

/**
 * The waits of all windows of a `ratelimit` field in which nothing remains, in the current form
 * (`"burst";r=0;t=30, "daily";r=12;t=3600`) and the one before it (`limit=100, remaining=0, reset=30`).
 */
function spentWindows(items: readonly string[]): (number | undefined)[] {
  const waits: (number | undefined)[] = [];
  const whole = new Map<string, string>();
  for (const item of items) {
    const own = new Map<string, string>();
    for (const part of item.split(';')) {
      const [name = '', value = ''] = part.split('=', 2).map((text) => text.trim());
      own.set(name, value);
      whole.set(name, value);
    }
    if (own.get('r') === '0') waits.push(seconds(own.get('t') ?? ''));
  }
  if (whole.get('remaining') === '0') waits.push(seconds(whole.get('reset') ?? ''));
  return waits;
}

/** Reset headers hold seconds to go, epoch seconds or epoch milliseconds; nobody says which, so the size has to. */
function untilReset(text: string, serverNowMs: number): number | undefined {
  const value = parseNumber(text);
  if (value === undefined || value < 1e9) return seconds(text);
  return (value < 1e11 ? value * 1000 : value) - serverNowMs;
}

function untilDate(text: string, serverNowMs: number): number | undefined {
  const at = parseHttpDate(text, serverNowMs);
  return at === undefined ? undefined : at - serverNowMs;
}

function seconds(text: string): number | undefined {
  const value = parseNumber(text);
  return value === undefined ? undefined : value * 1000;
}

/** Not `Number` or `parseFloat`: they read '' as 0, '1e3' as 1000 and '2026-11-15' as 2026. */
function parseNumber(text: string): number | undefined {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** The largest wait, finite, if any is above zero. */
function largest(waits: readonly (number | undefined)[]): number | undefined {
  let most = 0;
  for (const ms of waits) if (ms !== undefined && ms > most) most = ms;
  return most > 0 ? Math.min(most, Number.MAX_SAFE_INTEGER) : undefined;
}

/** All values of a header, trimmed, lists taken apart. Quoted names are blanked, as they may hold commas and semicolons. */
function valuesOf(headers: HeaderSource, name: HintHeader): string[] {
  const raw = rawValue(headers, name);
  const lines = Array.isArray(raw) ? raw : [raw];
  return lines
    .filter((line) => typeof line === 'string')
    .flatMap((line) => line.replaceAll(/"[^"]*"/g, '').split(BETWEEN_VALUES))
    .map((text) => text.trim());
}

function rawValue(headers: HeaderSource, name: string): unknown {
  try {
    if (typeof headers.get === 'function') return headers.get(name);
    const fields = headers as Readonly<Record<string, unknown>>;
    if (Object.hasOwn(fields, name)) return fields[name];
    const found = Object.keys(fields).find((key) => key.toLowerCase() === name);
    return found === undefined ? undefined : fields[found];
  } catch {
    // Headers come with a foreign error; one that throws when it is read says nothing.
    return undefined;
  }
}
