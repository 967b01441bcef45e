import type { FlowRules, HiddenParts } from '../delivery/delivery-request.ts';
import { badRequest } from './refusal.ts';

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `90s`, `1d10h30m`, in milliseconds. A bare number is seconds. */
export function readDuration(name: string, text: string): number {
  const given = text.trim();
  if (/^\d+$/.test(given)) return bounded(name, Number(given) * 1_000);
  // As a whole first: to look for parts in a long row of digits takes the square of its length.
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(given)) {
    throw badRequest(`${name} is ${JSON.stringify(given)}; write a time such as 90s, 2h or 1d10h30m`);
  }
  const parts = [...given.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)];
  const ms = parts.reduce((sum, [, count, unit = 's']) => sum + Number(count) * (UNITS_MS[unit] ?? 0), 0);
  return bounded(name, ms);
}

// Times are kept in dates, which end in the year 275760.
function bounded(name: string, ms: number): number {
  if (ms > 3_650 * 86_400_000) throw badRequest(`${name} is more than ten years`);
  return Math.round(ms);
}

/** A whole number from `min` to `max`. */
export function readCount(name: string, text: string, min: number, max: number): number {
  const value = Number(text.trim());
  if (!/^\d+$/.test(text.trim()) || value < min || value > max) {
    throw badRequest(`${name} is ${JSON.stringify(text)}; write a whole number from ${min} to ${max}`);
  }
  return value;
}

/** `true`, however it is written. */
export function readFlag(text: string | undefined): boolean {
  return text?.trim().toLowerCase() === 'true';
}

/** `a,b` as its parts, without empty ones. */
export function readList(text: string): readonly string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

const MOST_AT_ONCE = 1_000_000;
const LONGEST_PERIOD_MS = 7 * 86_400_000;

/** `parallelism=2, rate=10, period=60s`, any of them. */
export function readFlow(name: string, text: string): FlowRules {
  const rules: { parallelism?: number; rate?: number; periodMs?: number } = {};
  for (const part of readList(text)) {
    const [word = '', value = ''] = part.split('=', 2).map((one) => one.trim());
    switch (word.toLowerCase()) {
      case 'parallelism':
        rules.parallelism = readCount(`parallelism of ${name}`, value, 1, MOST_AT_ONCE);
        break;
      // The old name of the same.
      case 'ratepersecond':
      case 'rate':
        rules.rate = readCount(`rate of ${name}`, value, 1, MOST_AT_ONCE);
        break;
      case 'period':
        rules.periodMs = readPeriod(`period of ${name}`, value);
        break;
      default:
        throw badRequest(`${name} holds ${JSON.stringify(word)}; write parallelism=2, rate=10, period=60s`);
    }
  }
  return rules;
}

/** From a second to a week. */
function readPeriod(name: string, text: string): number {
  const ms = readDuration(name, text);
  if (ms < 1_000 || ms > LONGEST_PERIOD_MS) throw badRequest(`${name} is ${text}; write a time from 1s to 7d`);
  return ms;
}

/** `body,header[Authorization]`; `header` and `headers` alone are all of them. */
export function readHidden(name: string, text: string): HiddenParts {
  const names: string[] = [];
  let isAll = false;
  let body = false;
  for (const part of readList(text)) {
    const [, header] = /^headers?\[([^\]]+)\]$/i.exec(part) ?? [];
    if (header !== undefined) names.push(header.trim().toLowerCase());
    else if (/^headers?$/i.test(part)) isAll = true;
    else if (/^body$/i.test(part)) body = true;
    else throw badRequest(`${name} holds ${JSON.stringify(part)}; write body, header or header[Name]`);
  }
  return {
    ...(body && { body }),
    ...(isAll ? { headers: true as const } : names.length > 0 && { headers: names }),
  };
}
