import type { Instant } from '../kernel/effects.ts';
import { codeLabel, type RetryNoticeEvent, waitMs } from './notice-event.ts';

/** Where one wait stands at one moment. */
export interface Countdown {
  /** From the event's delay down to 0, never below. */
  readonly remainingMs: number;
  /** How much of the wait is over: 0 at its start, 1 at its end. */
  readonly progress: number;
  /** `retrying in 1 min 5 s`, and `retrying now` once nothing is left. */
  readonly text: string;
  /** When the text changes next; absent once nothing is left. */
  readonly nextChangeMs?: number;
}

/**
 * The countdown of `event`, shown since `startedAt`. It counts from the start and not from the last tick, so it cannot
 * drift. Of the two clocks the one that moved further counts: the monotonic one stands still while a laptop sleeps, and
 * the wall clock may be set back.
 */
export function countdown(event: Pick<RetryNoticeEvent, 'delayMs'>, startedAt: Instant, now: Instant): Countdown {
  const delayMs = waitMs(event);
  const passedMs = Math.max(0, now.monoMs - startedAt.monoMs, now.wallMs - startedAt.wallMs);
  const remainingMs = Math.max(0, delayMs - passedMs);
  if (remainingMs === 0) return { remainingMs, progress: 1, text: 'retrying now' };
  const secondsLeft = Math.ceil(remainingMs / 1_000);
  return {
    remainingMs,
    progress: 1 - remainingMs / delayMs,
    text: `retrying in ${formatDuration(remainingMs)}`,
    // At least 1: browsers round their clocks, and a timer of a fraction would spin.
    nextChangeMs: Math.max(1, Math.ceil(remainingMs - (secondsLeft - 1) * 1_000)),
  };
}

/** The countdown's text as a line of its own: `Retrying in 4 s`. */
export function headline(look: Countdown): string {
  return look.text.charAt(0).toUpperCase() + look.text.slice(1);
}

/** `5 s`, `1 min 5 s`, `29 min`, `7 h 31 min`. Rounded up, so that a wait is never shown as over before it is. */
export function formatDuration(ms: number): string {
  const { hours, minutes, seconds } = split(ms);
  const parts: string[] = [];
  if (hours > 0) parts.push(`${hours} h`);
  if (minutes > 0) parts.push(`${minutes} min`);
  if (seconds > 0) parts.push(`${seconds} s`);
  return parts.join(' ') || '0 s';
}

/** The same for a screen reader: `1 minute 5 seconds`. */
function spokenDuration(ms: number): string {
  const { hours, minutes, seconds } = split(ms);
  const parts = [counted(hours, 'hour'), counted(minutes, 'minute'), counted(seconds, 'second')];
  return parts.filter((part) => part !== '').join(' ') || '0 seconds';
}

function counted(count: number, unit: string): string {
  if (count === 0) return '';
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Seconds matter below an hour only; above it they are rounded up into the minutes. */
function split(ms: number): { hours: number; minutes: number; seconds: number } {
  let seconds = Math.ceil(Math.max(0, ms) / 1_000);
  if (seconds > 3_600) seconds = Math.ceil(seconds / 60) * 60;
  return { hours: Math.floor(seconds / 3_600), minutes: Math.floor((seconds % 3_600) / 60), seconds: seconds % 60 };
}

// A screen reader that speaks every second is worse than none. It hears the start, these marks, and the end.
const SPOKEN_MARKS_MS = [600_000, 60_000, 10_000];

// Spoken in full, a provider's error page would take minutes.
const SPOKEN_MESSAGE_LENGTH = 160;

/** What a screen reader is told when the wait begins. */
export function announceWait(event: RetryNoticeEvent, remainingMs: number): string {
  const code = codeLabel(event.code);
  const message =
    event.message.length > SPOKEN_MESSAGE_LENGTH ? `${event.message.slice(0, SPOKEN_MESSAGE_LENGTH)}…` : event.message;
  const when = remainingMs > 0 ? `Retrying in ${spokenDuration(remainingMs)}.` : 'Retrying now.';
  return `Warning${code === '' ? '' : `, ${code}`}: ${message} ${when}`;
}

/**
 * What a screen reader is told between two looks at the same wait: the moments when 10 minutes, 1 minute and 10 seconds
 * are left, each only if the wait is at least twice as long, and the end. Otherwise nothing.
 */
export function announceBetween(delayMs: number, beforeMs: number, afterMs: number): string | undefined {
  if (beforeMs > 0 && afterMs === 0) return 'Retrying now.';
  const passed = SPOKEN_MARKS_MS.some((mark) => delayMs >= 2 * mark && beforeMs > mark && afterMs <= mark);
  return passed ? `Retrying in ${spokenDuration(afterMs)}.` : undefined;
}
