import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Instant } from '../kernel/effects.ts';
import { announceBetween, announceWait, countdown, formatDuration } from './countdown.ts';

const T0: Instant = { wallMs: 1_700_000_000_000, monoMs: 5_000 };
const after = (ms: number): Instant => ({ wallMs: T0.wallMs + ms, monoMs: T0.monoMs + ms });
const MINUTE = 60_000;

describe('countdown', () => {
  test.each([
    [0, '0 s'],
    [1, '1 s'],
    [5_000, '5 s'],
    [59_001, '1 min'],
    [65_000, '1 min 5 s'],
    [29 * MINUTE, '29 min'],
    [29 * MINUTE + 59_500, '30 min'],
    [60 * MINUTE, '1 h'],
    [60 * MINUTE + 1_000, '1 h 1 min'],
    [451 * MINUTE + 45_000, '7 h 32 min'],
  ])('%i ms left is shown as "%s" [S2.5]', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('the text follows the time that has passed since the start, not the number of ticks [S2.5]', () => {
    const event = { delayMs: 5_000 };
    expect(countdown(event, T0, T0)).toEqual({
      remainingMs: 5_000,
      progress: 0,
      text: 'retrying in 5 s',
      nextChangeMs: 1_000,
    });
    expect(countdown(event, T0, after(1_000)).text).toBe('retrying in 4 s');
    expect(countdown(event, T0, after(3_250))).toMatchObject({ text: 'retrying in 2 s', nextChangeMs: 750 });
  });

  test('at the end and after it the text is "retrying now" and no further tick is asked for [S2.5]', () => {
    const over = { remainingMs: 0, progress: 1, text: 'retrying now' };
    expect(countdown({ delayMs: 5_000 }, T0, after(5_000))).toEqual(over);
    expect(countdown({ delayMs: 5_000 }, T0, after(9_999_999))).toEqual(over);
  });

  test.each([0, -1, Number.NaN])('a delay of %d from the wire counts as no wait [S2.5]', (delayMs) => {
    expect(countdown({ delayMs }, T0, T0).text).toBe('retrying now');
  });

  test.each([Number.POSITIVE_INFINITY, 1e300])('a delay of %d counts down from a year [S2.5]', (delayMs) => {
    expect(countdown({ delayMs }, T0, T0)).toEqual({
      remainingMs: 365 * 24 * 60 * MINUTE,
      progress: 0,
      text: 'retrying in 8760 h',
      nextChangeMs: 1_000,
    });
  });

  test('a machine that slept, or whose wall clock was set back, still counts down [S2.5]', () => {
    const event = { delayMs: 30 * MINUTE };
    expect(countdown(event, T0, { wallMs: T0.wallMs + 20 * MINUTE, monoMs: T0.monoMs }).remainingMs).toBe(10 * MINUTE);
    expect(countdown(event, T0, { wallMs: T0.wallMs - 60 * MINUTE, monoMs: T0.monoMs + 5 * MINUTE }).remainingMs).toBe(
      25 * MINUTE,
    );
  });

  test('ticking as often as asked shows every second once and ends [S2.5]', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 120_000, noNaN: true }), (delayMs) => {
        const seen: string[] = [];
        let now = 0;
        for (;;) {
          const look = countdown({ delayMs }, T0, after(now));
          seen.push(look.text);
          if (look.nextChangeMs === undefined) break;
          now += look.nextChangeMs;
        }
        // A tick that a rounded clock asks for too early shows the same second again, once.
        expect(new Set(seen).size).toBe(Math.ceil(delayMs / 1_000) + 1);
        expect(seen.length).toBeLessThanOrEqual(Math.ceil(delayMs / 1_000) + 2);
        expect(seen.at(-1)).toBe('retrying now');
      }),
    );
  });
});

describe('what a screen reader hears', () => {
  test('the start names the code, the message and the wait in words [S2.5]', () => {
    const event = { attempt: 0, delayMs: 65_000, message: 'Overloaded.', code: '429' };
    expect(announceWait(event, 65_000)).toBe('Warning, HTTP 429: Overloaded. Retrying in 1 minute 5 seconds.');
    expect(announceWait({ ...event, code: 'slow_down' }, 0)).toBe('Warning, slow_down: Overloaded. Retrying now.');
  });

  test('a long message is not read to its end [S2.5]', () => {
    const spoken = announceWait({ attempt: 0, delayMs: 1_000, message: 'x'.repeat(5_000) }, 1_000);
    expect(spoken.length).toBeLessThan(220);
  });

  test('a wait of half an hour is spoken at 10 minutes, 1 minute, 10 seconds and at its end, and never between [S2.5]', () => {
    const delayMs = 30 * MINUTE;
    const spoken: string[] = [];
    for (let left = delayMs; left > 0; left -= 1_000) {
      const said = announceBetween(delayMs, left, left - 1_000);
      if (said !== undefined) spoken.push(said);
    }
    expect(spoken).toEqual([
      'Retrying in 10 minutes.',
      'Retrying in 1 minute.',
      'Retrying in 10 seconds.',
      'Retrying now.',
    ]);
  });

  test('a wait of 5 seconds is spoken at its end only [S2.5]', () => {
    expect(announceBetween(5_000, 5_000, 4_000)).toBeUndefined();
    expect(announceBetween(5_000, 1_000, 0)).toBe('Retrying now.');
    expect(announceBetween(5_000, 0, 0)).toBeUndefined();
  });
});
