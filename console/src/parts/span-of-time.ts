const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `2h` as the instant two hours ago, a date as it is; nothing for anything else. */
export function instantOf(value: unknown, nowMs: number = Date.now()): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const [, digits, unit] = /^(\d{1,6})\s*([smhdw])$/.exec(value) ?? [];
  if (digits !== undefined && unit !== undefined) {
    return new Date(nowMs - Number(digits) * (UNITS[unit] ?? 0)).toISOString();
  }
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** A duration in the two units that matter: `340 ms`, `4.2 s`, `3 min 20 s`, `5 h 12 min`, `3 d 4 h`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || ms === null) return '–';
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const s = Math.round(ms / 1_000);
  if (s < 60) return `${s} s`;
  if (s < 3_600) return two(s, 60, 'min', 's');
  if (s < 86_400) return two(Math.floor(s / 60), 60, 'h', 'min');
  return two(Math.floor(s / 3_600), 24, 'd', 'h');
}

function two(value: number, base: number, large: string, small: string): string {
  const rest = value % base;
  const first = `${Math.floor(value / base)} ${large}`;
  return rest === 0 ? first : `${first} ${rest} ${small}`;
}

/** How long ago or until, in one unit: `12 s ago`, `in 3 min`. */
export function relative(atMs: number, nowMs: number): string {
  const ms = Math.abs(nowMs - atMs);
  if (ms < 1_000) return 'now';
  const [size, unit] =
    ms < 60_000
      ? [1_000, 's']
      : ms < 3_600_000
        ? [60_000, 'min']
        : ms < 172_800_000
          ? [3_600_000, 'h']
          : [86_400_000, 'd'];
  const text = `${Math.floor(ms / size)} ${unit}`;
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** The exact time in the reader's zone, with the zone. */
export function exact(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
}

/** The time of day to the millisecond. */
export function clock(at: string): string {
  const date = new Date(at);
  return `${date.toLocaleTimeString(undefined, { hour12: false })}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
