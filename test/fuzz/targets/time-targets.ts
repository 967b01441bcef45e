import { parseCron } from '../../../src/delivery/cron.ts';
import { nextTime } from '../../../src/delivery/cron-time.ts';
import { readWait } from '../../../src/delivery/response-hints.ts';
import { isHoldfastError } from '../../../src/kernel/error.ts';
import { compileExpression } from '../../../src/retry/expression.ts';
import { readHint } from '../../../src/retry/hint.ts';
import { parseHttpDate } from '../../../src/retry/http-date.ts';
import { parseDuration, writeDuration } from '../../../src/cli/duration.ts';
import { type FuzzTarget, linesOf, unlessRefused, wrong } from '../target.ts';

const NOW = Date.UTC(2026, 10, 16, 10);
const DAY = 86_400_000;
const DATES = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'];
const HINTS = [
  'retry-after',
  'retry-after-ms',
  'ratelimit',
  'x-ratelimit-reset',
  'ratelimit-remaining',
  'x-should-retry',
];

/** Times, waits and schedules. */
export const TIME_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'delay-expression',
    seeds: ['10000 * pow(2, retried)', 'min(1e3, -(retried + 1) / 2)', 'max(1,2,3)', '((((1))))', 'sqrt(abs(retried))'],
    words: ['pow(', 'sqrt(', 'min(', 'max(', 'retried', '(', ')', '-', '*', '/', '1e5', ' '],
    check: (text) => {
      const made = unlessRefused(
        () => compileExpression(text),
        (error) => isHoldfastError(error, 'BAD_EXPRESSION') && error.message.length < 3_000,
      );
      for (const retried of [0, 1, 1_000]) {
        const value = made?.evaluate(retried);
        if (made && typeof value !== 'number') wrong(`it gives ${typeof value}`);
      }
    },
  },
  {
    name: 'cron',
    seeds: [
      '*/5 * * * *',
      '0 9 * * 1-5',
      'CRON_TZ=Europe/Berlin 30 2 * 3 SUN',
      '@daily',
      '1,2,3 0-23/2 29 FEB ?',
      '0 0 L * *',
    ],
    words: ['*', '/', '-', ',', 'MON', 'JAN', '@hourly', 'TZ=', 'CRON_TZ=', 'UTC', '59', '31', ' '],
    check: (text) => {
      const reading = parseCron(text);
      if (reading.kind === 'refused') {
        if (reading.message.length > 2_500) wrong('a refusal is that long');
        return;
      }
      const next = nextTime(reading.cron, NOW);
      if (next !== undefined && (next <= NOW || next % 60_000 !== 0)) wrong(`${next} does not come after ${NOW}`);
    },
  },
  {
    name: 'http-date',
    seeds: DATES,
    words: ['GMT', 'Sun', 'Nov', '29', 'Feb', ':', ' ', ',', '-'],
    check: (text) => {
      const at = parseHttpDate(text, NOW);
      if (at !== undefined && Number.isNaN(new Date(at).getTime())) wrong(`${at} is no time`);
    },
  },
  {
    name: 'retry-hint',
    seeds: [
      'retry-after: 120',
      `retry-after: ${DATES[0]}\ndate: ${DATES[0]}`,
      'ratelimit: "burst";r=0;t=30, "daily";r=12;t=3600',
      'x-ratelimit-reset: 1763287200\nx-ratelimit-remaining: 0',
      'grpc-retry-pushback-ms: -1',
      'x-should-retry: false',
    ],
    words: [...HINTS, ';r=0', ';t=', ',', '"', ': ', '\n', 'remaining=0', 'reset=30'],
    check: (text) => {
      const hint = readHint(Object.fromEntries(linesOf(text)), NOW, 429);
      const { afterMs = 1 } = hint ?? {};
      if (!(afterMs > 0 && Number.isFinite(afterMs))) wrong(`it waits ${afterMs}`);
    },
  },
  {
    name: 'destination-wait',
    seeds: [
      'Retry-After: 120',
      'X-RateLimit-Reset: 6m5s',
      'x-ratelimit-reset-tokens: 1h2m3.5s',
      `retry-after: ${DATES[1]}`,
    ],
    words: ['ns', 'us', 'µs', 'ms', 's', 'm', 'h', '.', '1', ': ', '\n', 'retry-after'],
    check: (text) => {
      const lists = Object.fromEntries(linesOf(text).map(([name, value]) => [name, [value]]));
      const waitMs = readWait(lists, NOW);
      if (waitMs !== undefined && !(Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= DAY))
        wrong(`it waits ${waitMs}`);
    },
  },
  {
    name: 'duration',
    seeds: ['500ms', '1h30m', '7d', '1.5h', '0s'],
    words: ['ms', 's', 'm', 'h', 'd', '.', '0', '9'],
    check: (text) => {
      const ms = parseDuration(text);
      if (ms === undefined) return;
      if (!Number.isSafeInteger(ms)) wrong(`${text} is ${ms}`);
      if (parseDuration(writeDuration(ms)) !== ms) wrong(`${ms} is written ${writeDuration(ms)}`);
    },
  },
];
