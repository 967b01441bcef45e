import { formatNumber } from '../result/format.ts';
import type { Report, TopicReport } from './report.ts';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
const MINUTE = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const SETTING_NAMES: Readonly<Record<string, string>> = { server_version: 'PostgreSQL' };

/** `2 cores (…), 8 GB, Linux 6.1, Node v24.1.0`. */
export function machineLine({ machine }: Report): string {
  const { cores, processor, memoryGb, system, node } = machine;
  return `${cores} cores (${processor}), ${memoryGb} GB, ${system}, Node ${node}`;
}

/** `16 November 2026, 03:22 to 03:28 UTC, load 1.7 before and 2 after`. */
export function timeLine({ startedAt, endedAt, load }: TopicReport): string {
  const [from, to] = [new Date(startedAt), new Date(endedAt)];
  return `${DAY.format(from)}, ${MINUTE.format(from)} to ${MINUTE.format(to)} UTC, load ${load.before} before and ${load.after} after`;
}

/** Versions and settings, each with its value. */
export function factsOf({ settings, packages }: TopicReport): string[] {
  const told = Object.entries(settings).map(([name, value]) => {
    const text = typeof value === 'number' ? formatNumber(value) : value.split(' (')[0];
    return `${SETTING_NAMES[name] ?? name} ${text}`;
  });
  return [...told, ...Object.entries(packages).map(([name, version]) => `${name} ${version}`)];
}

/** What stands above everything that comes from a quick run. */
export const QUICK_LINE =
  'From a quick run with small counts: it shows that everything works, and claims nothing about speed.';
