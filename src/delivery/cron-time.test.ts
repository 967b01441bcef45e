import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseCron } from './cron.ts';
import { nextTime } from './cron-time.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The times of a cron after one instant and up to another. */
function timesOf(text: string, after: string | number, upTo: string | number): readonly number[] {
  const reading = parseCron(text);
  if (reading.kind === 'refused') throw new Error(reading.message);
  const times: number[] = [];
  for (let at = new Date(after).getTime(); ;) {
    const next = nextTime(reading.cron, at);
    if (next === undefined || next > new Date(upTo).getTime()) return times;
    times.push(next);
    at = next;
  }
}

function clockOf(times: readonly number[]): readonly string[] {
  return times.map((time) => new Date(time).toISOString().slice(5, 16));
}

/** Every minute of a span with what the wall shows, by the platform's calendar and not by offsets. */
function walk(zone: string, from: number, to: number): readonly { readonly at: number; readonly wall: number }[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const minutes = [];
  for (let at = from; at <= to; at += MINUTE_MS) {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    minutes.push({ at, wall: Date.UTC(year, month - 1, day, hour, minute) });
  }
  return minutes;
}

interface Fields {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[] | undefined;
  readonly weekdays: readonly number[] | undefined;
}

function fits({ minutes, hours, days, weekdays }: Fields, wall: number): boolean {
  const date = new Date(wall);
  if (!minutes.includes(date.getUTCMinutes()) || !hours.includes(date.getUTCHours())) return false;
  const isDay = days?.includes(date.getUTCDate());
  const isWeekday = weekdays?.includes(date.getUTCDay());
  return isDay === undefined ? (isWeekday ?? true) : isDay || isWeekday === true;
}

/** What must come in the walked minutes, found by looking at every minute on the wall. */
function expected(
  fields: Fields,
  minutes: readonly { readonly at: number; readonly wall: number }[],
): readonly number[] {
  const due = new Set<number>();
  let reached = -Infinity;
  let before = minutes[0]?.wall ?? 0;
  for (const { at, wall } of minutes) {
    const step = wall - before;
    const moved = at === minutes[0]?.at ? 0 : step - MINUTE_MS;
    const isAlike =
      moved !== 0 &&
      allMinutes().every((time) => fitsTime(fields, time) === fitsTime(fields, time + moved / MINUTE_MS));
    if (moved > 0 && !isAlike) {
      for (let gone = before + MINUTE_MS; gone < wall; gone += MINUTE_MS) if (fits(fields, gone)) due.add(at);
    }
    if (isAlike) reached = -Infinity;
    if (wall > reached && fits(fields, wall)) due.add(at);
    reached = Math.max(reached, wall);
    before = wall;
  }
  return [...due].sort((a, b) => a - b);
}

function allMinutes(): readonly number[] {
  return Array.from({ length: 1_440 }, (_, time) => time);
}

function fitsTime({ minutes, hours }: Fields, time: number): boolean {
  const minute = (time + 1_440) % 1_440;
  return minutes.includes(minute % 60) && hours.includes(Math.floor(minute / 60));
}

const SPANS = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['America/Santiago', '2026-04-05T03:00Z'],
  ['America/Santiago', '2026-09-06T04:00Z'],
  ['Asia/Kathmandu', '2026-05-01T00:00Z'],
  ['UTC', '2026-02-28T00:00Z'],
] as const;

const some = (max: number, from = 0): fc.Arbitrary<readonly number[]> =>
  fc.uniqueArray(fc.integer({ min: from, max }), { minLength: 1, maxLength: 5 });
const hours = fc.oneof(
  some(23),
  some(4),
  fc.constant(Array.from({ length: 24 }, (_, hour) => hour)),
  fc.constant([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22]),
);
const minutes = fc.oneof(some(59), fc.constantFrom([0], [30], [0, 30], [0, 15, 30, 45], [15]));
const fields: fc.Arbitrary<Fields> = fc.record({
  minutes,
  hours,
  days: fc.option(some(31, 1), { nil: undefined }),
  weekdays: fc.option(some(6), { nil: undefined }),
});

describe('when a cron comes', () => {
  test.for(SPANS)('Around %j, %j a cron comes when a walk over every minute says [X.8]', ([zone, change]) => {
    const middle = Date.parse(change);
    const minutesWalked = walk(zone, middle - 2 * DAY_MS, middle + DAY_MS);
    // The walk needs a day before to know what was repeated.
    const [from, to] = [middle - DAY_MS, middle + DAY_MS];
    fc.assert(
      fc.property(fields, (given) => {
        const text = `CRON_TZ=${zone} ${given.minutes.join()} ${given.hours.join()} ${given.days?.join() ?? '*'} * ${given.weekdays?.join() ?? '*'}`;
        expect(timesOf(text, from, to)).toEqual(expected(given, minutesWalked).filter((at) => at > from));
      }),
      { numRuns: 40 },
    );
  });

  test('The next time does not depend on from when within a minute it is asked [X.8]', () => {
    const reading = parseCron('CRON_TZ=Europe/Berlin 30 2 * * *');
    if (reading.kind === 'refused') throw new Error(reading.message);
    const due = Date.parse('2026-10-25T00:30Z');
    expect([due - 1, due - 59_999, due - MINUTE_MS, due].map((at) => nextTime(reading.cron, at))).toEqual([
      due,
      due,
      due,
      Date.parse('2026-10-26T01:30Z'),
    ]);
  });

  test('A time that is jumped over comes at the jump, once for all that one jump takes away [X.8]', () => {
    const night = ['2026-03-28T20:00Z', '2026-03-29T04:00Z'] as const;
    expect(clockOf(timesOf('CRON_TZ=Europe/Berlin 30 2 * * *', ...night))).toEqual(['03-29T01:00']);
    expect(clockOf(timesOf('CRON_TZ=Europe/Berlin 0,15,30 2,3 * * *', ...night))).toEqual([
      '03-29T01:00',
      '03-29T01:15',
      '03-29T01:30',
    ]);
  });

  test('A time that comes twice is taken the first time, and what comes every hour goes on by real time [X.8]', () => {
    const night = ['2026-10-24T23:00Z', '2026-10-25T02:30Z'] as const;
    expect(clockOf(timesOf('CRON_TZ=Europe/Berlin 30 2 * * *', ...night))).toEqual(['10-25T00:30']);
    expect(clockOf(timesOf('CRON_TZ=Europe/Berlin 30 * * * *', ...night))).toEqual([
      '10-24T23:30',
      '10-25T00:30',
      '10-25T01:30',
      '10-25T02:30',
    ]);
    expect(timesOf('CRON_TZ=Europe/Berlin */5 * * * *', ...night)).toHaveLength(42);
  });

  test('A day that a zone left out comes at the jump where the day was asked for, and never where every day was [X.8]', () => {
    const days = ['2011-12-29T12:00Z', '2011-12-31T12:00Z'] as const;
    expect(clockOf(timesOf('CRON_TZ=Pacific/Apia 0 9 30 12 *', ...days))).toEqual(['12-30T10:00']);
    expect(clockOf(timesOf('CRON_TZ=Pacific/Apia 0 9 * * *', ...days))).toEqual(['12-29T19:00', '12-30T19:00']);
  });

  test('29 February is found across a century without it, and the end of time ends the search [X.8]', () => {
    expect(timesOf('0 0 29 2 *', '2096-03-01T00:00Z', '2104-03-01T00:00Z')).toEqual([Date.UTC(2104, 1, 29)]);
    const reading = parseCron('0 0 1 1 *');
    expect(reading.kind === 'cron' && nextTime(reading.cron, 8.64e15 - DAY_MS)).toBeUndefined();
  });

  test('Day and weekday narrow each other down only where one of them is any [X.8]', () => {
    const may = ['2026-05-01T00:00Z', '2026-05-31T00:00Z'] as const;
    expect(clockOf(timesOf('0 12 13 * 5', ...may))).toEqual([
      '05-01T12:00',
      '05-08T12:00',
      '05-13T12:00',
      '05-15T12:00',
      '05-22T12:00',
      '05-29T12:00',
    ]);
    expect(clockOf(timesOf('0 12 13 * *', ...may))).toEqual(['05-13T12:00']);
  });
});
