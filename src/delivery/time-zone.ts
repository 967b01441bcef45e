/** A time zone: how far its clocks are from UTC at an instant. Minutes are the finest it knows. */
export interface Zone {
  readonly name: string;
  /** What is added to UTC to get the clock on the wall, in milliseconds. */
  offsetAt(atMs: number): number;
}

const UTC: Zone = { name: 'UTC', offsetAt: () => 0 };
const MINUTE_MS = 60_000;

/** A zone by its name in the time zone database (`Europe/Berlin`); nothing: there is none. The platform's own data is used. */
export function findZone(name: string): Zone | undefined {
  if (name === 'UTC') return UTC;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return {
    name,
    offsetAt: (atMs) => {
      const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(format.format(atMs)) ?? [];
      const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * MINUTE_MS;
      return sign === '-' ? -ms : ms;
    },
  };
}
