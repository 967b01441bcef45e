import { parseHttpDate } from '../retry/http-date.ts';
import type { HeaderLists } from './delivery-request.ts';

const DAY_MS = 86_400_000;
// The first that says something counts.
const NAMES = ['retry-after', 'x-ratelimit-reset', 'x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'] as const;
const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const GO_DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+$/;
// Below it a number is seconds to go, above it the second in which it may be tried: September 2001, and 31 years.
const EPOCH_S = 1e9;
const EPOCH_MS = 1e11;

/**
 * When the destination asks to be tried again, in milliseconds from now; 0 is at once. `Retry-After`, `X-RateLimit-Reset`,
 * `X-RateLimit-Reset-Requests` and `X-RateLimit-Reset-Tokens`: seconds, a date, or a duration as Go writes it (`6m5s`). Nothing: it says
 * nothing that can be read, or asks for more than a day, which is taken for a mistake.
 */
export function readWait(headers: HeaderLists, nowMs: number): number | undefined {
  const lists = new Map(Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values]));
  for (const name of NAMES) {
    for (const value of lists.get(name) ?? []) {
      const waitMs = waitOf(value.trim(), nowMs);
      if (waitMs !== undefined && waitMs <= DAY_MS) return Math.max(0, Math.ceil(waitMs));
    }
  }
  return undefined;
}

/** The destination says that trying again is of no use: 489 with `Upstash-NonRetryable-Error: true`. */
export function isFinalAnswer(status: number, headers: HeaderLists): boolean {
  if (status !== 489) return false;
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === 'upstash-nonretryable-error');
  return found?.[1].some((value) => value.trim().toLowerCase() === 'true') ?? false;
}

function waitOf(text: string, nowMs: number): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const value = Number(text);
    if (value < EPOCH_S) return value * 1_000;
    return (value < EPOCH_MS ? value * 1_000 : value) - nowMs;
  }
  if (GO_DURATION.test(text)) return goDurationMs(text);
  const at = parseHttpDate(text, nowMs);
  return at === undefined ? undefined : at - nowMs;
}

function goDurationMs(text: string): number {
  let sum = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g))
    sum += Number(amount) * (UNIT_MS[unit] ?? 0);
  return sum;
}
