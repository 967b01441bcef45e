import { findZone, type Zone } from './time-zone.ts';

/** A schedule as it was read: which minutes, hours, days, months and weekdays, and in whose time. */
export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** Of the month, from 1. */
  readonly days: readonly number[];
  /** From 1. */
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
  /** The field is `*`. Where neither is, a day fits that one of the two allows; otherwise both must. */
  readonly isAnyDay: boolean;
  readonly isAnyWeekday: boolean;
  readonly zone: Zone;
}

export type CronReading =
  | { readonly kind: 'cron'; readonly cron: Cron }
  /** For people, with the next step. */
  | { readonly kind: 'refused'; readonly message: string };

interface FieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[] | undefined;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE: FieldRule = { name: 'minute', min: 0, max: 59 };
const HOUR: FieldRule = { name: 'hour', min: 0, max: 23 };
const DAY: FieldRule = { name: 'day of the month', min: 1, max: 31 };
const MONTH: FieldRule = { name: 'month', min: 1, max: 12, names: MONTHS };
// 7 is Sunday too, so that 5-7 can be written.
const WEEKDAY: FieldRule = { name: 'day of the week', min: 0, max: 7, names: WEEKDAYS };

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const LONGEST_TEXT = 1_000;
const DAYS_OF_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

class Refusal extends Error {}

/**
 * Reads five fields (minute, hour, day of the month, month, day of the week), or one of `@hourly`, `@daily`, `@midnight`, `@weekly`,
 * `@monthly`, `@yearly`, `@annually`; `CRON_TZ=Zone ` before them where it is not UTC. A time that never comes, such as 30 February,
 * is refused.
 */
export function parseCron(text: string): CronReading {
  try {
    return { kind: 'cron', cron: read(text) };
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'refused', message: error.message };
    throw error;
  }
}

function read(text: string): Cron {
  if (text.length > LONGEST_TEXT) refuse(`the cron is longer than ${LONGEST_TEXT} characters: write several schedules`);
  const [, zoneName, rest = ''] = /^\s*(?:(?:CRON_)?TZ=(\S*)\s*)?(.*)$/s.exec(text) ?? [];
  const zone = findZone(zoneName ?? 'UTC');
  if (zone === undefined) {
    refuse(`the time zone ${quoted(zoneName ?? '')} is not known: write one as CRON_TZ=Europe/Berlin 0 9 * * *`);
  }
  const words = rest.trim();
  const fields = (words.startsWith('@') ? macro(words) : words).split(/\s+/).filter((field) => field !== '');
  const [minute, hour, day, month, weekday, ...more] = fields;
  if (minute === undefined || hour === undefined || day === undefined || month === undefined || weekday === undefined) {
    refuse(`the cron has ${fields.length} of five fields: write minute, hour, day, month and weekday, as 0 9 * * 1`);
  }
  if (more.length > 0) {
    refuse(`the cron has ${fields.length} fields and not five: leave out seconds and years; the least is one minute`);
  }
  const days = readField(DAY, day);
  const weekdays = readField(WEEKDAY, weekday);
  const cron = {
    minutes: readField(MINUTE, minute),
    hours: readField(HOUR, hour),
    days,
    months: readField(MONTH, month),
    weekdays: [...new Set(weekdays.map((at) => at % 7))].sort((a, b) => a - b),
    isAnyDay: isAny(day),
    isAnyWeekday: isAny(weekday),
    zone,
  };
  refuseNever(cron);
  return cron;
}

function macro(word: string): string {
  const found = MACROS[word.toLowerCase()];
  if (found === undefined) refuse(`${quoted(word)} is not known: write five fields, or one of ${macroNames()}`);
  return found;
}

function macroNames(): string {
  return Object.keys(MACROS).join(', ');
}

function isAny(field: string): boolean {
  return /^[*?](?:\/1)?$/.test(field);
}

/** Weekdays only ever narrow a day down where the day is any: so a schedule is impossible only by its day and month. */
function refuseNever({ days, months, isAnyDay, isAnyWeekday }: Cron): void {
  if (isAnyDay || !isAnyWeekday) return;
  if (months.some((month) => days.some((day) => day <= (DAYS_OF_MONTHS[month - 1] ?? 0)))) return;
  refuse(
    `the cron never comes: no month of it has a day ${days.join(' or ')}. Write a day that is there, or 28 for the end of any month`,
  );
}

function readField(rule: FieldRule, field: string): readonly number[] {
  const found = new Set<number>();
  for (const part of field.split(',')) {
    const { from, to, step } = readPart(rule, part);
    for (let at = from; at <= to; at += step) found.add(at);
  }
  return [...found].sort((a, b) => a - b);
}

function readPart(
  rule: FieldRule,
  part: string,
): { readonly from: number; readonly to: number; readonly step: number } {
  const [range = '', stepText, ...more] = part.split('/');
  if (more.length > 0 || range === '') refuse(cannotRead(rule, part));
  const step = stepText === undefined ? 1 : readStep(rule, part, stepText);
  if (range === '*' || range === '?') return { from: rule.min, to: rule === WEEKDAY ? 6 : rule.max, step };
  const [first = '', last, ...others] = range.split('-');
  if (others.length > 0) refuse(cannotRead(rule, part));
  const from = readNumber(rule, part, first);
  if (last === undefined) return { from, to: stepText === undefined ? from : lastOf(rule), step };
  const end = readNumber(rule, part, last);
  // SAT-SUN, where Sunday is the end of the week.
  const to = rule === WEEKDAY && end === 0 && from > 0 ? 7 : end;
  if (to < from) {
    refuse(
      `the ${rule.name} ${quoted(part)} runs backwards: write two ranges, as ${from}-${lastOf(rule)},${rule.min}-${to}`,
    );
  }
  return { from, to, step };
}

function lastOf(rule: FieldRule): number {
  return rule === WEEKDAY ? 6 : rule.max;
}

function readStep(rule: FieldRule, part: string, text: string): number {
  const step = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (step < 1) refuse(`the step of the ${rule.name} ${quoted(part)} is not a whole number from 1: write */5`);
  if (step > rule.max) {
    refuse(
      `the step of the ${rule.name} ${quoted(part)} is over ${rule.max}, so it would come once: write that one time`,
    );
  }
  return step;
}

function readNumber(rule: FieldRule, part: string, text: string): number {
  const named = rule.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + rule.min;
  if (!/^\d{1,4}$/.test(text)) refuse(cannotRead(rule, part));
  const number = Number(text);
  if (number < rule.min || number > rule.max) {
    refuse(`the ${rule.name} ${quoted(part)} is not within ${rule.min} and ${lastOf(rule)}: write a number of these`);
  }
  return number;
}

function cannotRead(rule: FieldRule, part: string): string {
  const names = rule.names === undefined ? '' : `, a name such as ${(rule.names[1] ?? '').toUpperCase()}`;
  return `the ${rule.name} ${quoted(part)} cannot be read: write *, a number from ${rule.min} to ${lastOf(rule)}${names}, a range as 1-5, a step as */2, or several with commas`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}

function refuse(message: string): never {
  throw new Refusal(message);
}
