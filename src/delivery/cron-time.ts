import type { Cron } from './cron.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MINUTES_OF_DAY = 1_440;

// Clocks were never put back by more than a day: what is repeated at an instant began within this.
const LOOK_BACK_MS = 26 * HOUR_MS;

// 29 February is up to eight years away, where the year between is 1900 or 2100.
const LONGEST_DAYS = 8 * 366 + 2;

/**
 * The first time of a schedule after an instant, in milliseconds; nothing: there is none before the end of time as dates know it.
 *
 * Where clocks are changed, two rules. One whose times of day are the same on both clocks (every hour where an hour is
 * changed, every five minutes anywhere) goes on by real time: nothing is left out and nothing comes twice within its pace. For all
 * others a time of day comes once: the first of two that are alike; and one that is jumped over comes at the jump, all those of one jump
 * together once.
 */
export function nextTime(cron: Cron, afterMs: number): number | undefined {
  let fromMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS - LOOK_BACK_MS;
  let repeatedToWall = -Infinity;
  for (;;) {
    const offset = cron.zone.offsetAt(fromMs);
    const earliest = Math.max(
      fromMs + offset,
      repeatedToWall,
      Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS + offset,
    );
    const wall = nextWall(cron, earliest);
    if (wall === undefined) return undefined;
    const change = firstChange(cron, fromMs, wall - offset);
    if (change === undefined) return wall - offset;
    const moved = cron.zone.offsetAt(change) - offset;
    if (!isAlikeMoved(cron, moved)) {
      if (moved < 0) repeatedToWall = change + offset;
      else if (change > afterMs && isIn(cron, change + offset, change + offset + moved)) return change;
    }
    fromMs = change;
  }
}

/** The first minute in (from, to] whose offset is another. */
function firstChange({ zone }: Cron, fromMs: number, toMs: number): number | undefined {
  const offset = zone.offsetAt(fromMs);
  // No zone changes its clocks and puts them back within a day.
  let low = fromMs;
  let high = low;
  do {
    if (high >= toMs) return undefined;
    low = high;
    high = Math.min(low + DAY_MS, toMs);
  } while (zone.offsetAt(high) === offset);
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (zone.offsetAt(middle) === offset) low = middle;
    else high = middle;
  }
  return high;
}

/** True when the times of day are the same on a clock that was moved by so much. By a day or more: only if every day is alike too. */
function isAlikeMoved({ hours, minutes, isAnyDay, isAnyWeekday, months }: Cron, movedMs: number): boolean {
  if (Math.abs(movedMs) >= DAY_MS && !(isAnyDay && isAnyWeekday && months.length === 12)) return false;
  const times = new Set(hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute)));
  const by = (((movedMs / MINUTE_MS) % MINUTES_OF_DAY) + MINUTES_OF_DAY) % MINUTES_OF_DAY;
  return [...times].every((time) => times.has((time + by) % MINUTES_OF_DAY));
}

function isIn(cron: Cron, fromWall: number, toWall: number): boolean {
  const wall = nextWall(cron, fromWall);
  return wall !== undefined && wall < toWall;
}

/** The first time on the wall that fits, not before `fromWall`. Times on the wall are written as if they were in UTC. */
function nextWall(cron: Cron, fromWall: number): number | undefined {
  let dayWall = Math.floor(fromWall / DAY_MS) * DAY_MS;
  let minuteOfDay = Math.ceil((fromWall - dayWall) / MINUTE_MS);
  for (let days = 0; days <= LONGEST_DAYS; days += 1) {
    const found = fitsDay(cron, new Date(dayWall)) ? nextOfDay(cron, minuteOfDay) : undefined;
    if (found !== undefined) return dayWall + found * MINUTE_MS;
    dayWall += DAY_MS;
    minuteOfDay = 0;
  }
  return undefined;
}

function nextOfDay({ hours, minutes }: Cron, from: number): number | undefined {
  for (const hour of hours) {
    if (hour * 60 + 59 < from) continue;
    const minute = minutes.find((at) => hour * 60 + at >= from);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}

function fitsDay({ months, days, weekdays, isAnyDay, isAnyWeekday }: Cron, day: Date): boolean {
  // A day after the last that a date can have fits nothing: its parts are NaN.
  if (!months.includes(day.getUTCMonth() + 1)) return false;
  const isDay = days.includes(day.getUTCDate());
  const isWeekday = weekdays.includes(day.getUTCDay());
  return isAnyDay || isAnyWeekday ? isDay && isWeekday : isDay || isWeekday;
}
