import { formatDuration } from '../operator/words.ts';

export { formatDuration };

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `30s`, `15m`, `2h`, `7d` or several in a row (`1h30m`); nothing for any other text. */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g);
  let total = 0;
  for (const [, amount, unit = ''] of parts) total += Number(amount) * (UNITS[unit] ?? 0);
  // More digits than a number has: no time that anybody means.
  return Number.isSafeInteger(Math.round(total)) ? Math.round(total) : undefined;
}

/** A length of time as options take it, in the largest unit that divides it: `10s`, `5m`, `7d`. */
export function writeDuration(ms: number): string {
  const [unit = 'ms', length = 1] = Object.entries(UNITS).findLast(([, one]) => ms % one === 0) ?? [];
  return `${ms / length}${unit}`;
}

/** When something was or will be, seen from now: `3 min ago`, `in 12 s`, `just now`. */
export function formatAge(atMs: number, nowMs: number): string {
  const ago = nowMs - atMs;
  if (Math.abs(ago) < 1_000) return 'just now';
  return ago > 0 ? `${formatDuration(ago)} ago` : `in ${formatDuration(ago)}`;
}
