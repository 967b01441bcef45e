const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `30s`, `15m`, `2h`, `7d` or several in a row (`1h30m`); nothing for any other text. */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return undefined;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g);
  let total = 0;
  for (const [, amount, unit = ''] of parts) total += Number(amount) * (UNITS[unit] ?? 0);
  return Math.round(total);
}

/** A length of time as options take it, in the largest unit that divides it: `10s`, `5m`, `7d`. */
export function writeDuration(ms: number): string {
  const [unit = 'ms', length = 1] = Object.entries(UNITS).findLast(([, one]) => ms % one === 0) ?? [];
  return `${ms / length}${unit}`;
}

/** A length of time in words, in the largest unit that fits: `250 ms`, `12 s`, `3 min`, `5 h`, `2 days`. */
export function formatDuration(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  // Rounded down, as a clock does: "1 min" is said when a whole one has passed.
  if (length < 60_000) return `${Math.floor(length / 1_000)} s`;
  if (length < 3_600_000) return `${Math.floor(length / 60_000)} min`;
  if (length < 2 * 86_400_000) return `${Math.floor(length / 3_600_000)} h`;
  return `${Math.floor(length / 86_400_000)} days`;
}

/** When something was or will be, seen from now: `3 min ago`, `in 12 s`, `just now`. */
export function formatAge(atMs: number, nowMs: number): string {
  const ago = nowMs - atMs;
  if (Math.abs(ago) < 1_000) return 'just now';
  return ago > 0 ? `${formatDuration(ago)} ago` : `in ${formatDuration(ago)}`;
}
