import type { Effects, Instant } from '../kernel/effects.ts';
import { systemEffects } from '../system/effects.ts';
import { type Countdown, countdown, formatDuration, headline } from './countdown.ts';
import { codeLabel, type RetryNoticeEvent, waitMs } from './notice-event.ts';
import { displayWidth, fitColumns, terminalSafe } from './terminal-text.ts';

/** Where the notice is written, and how. `process.stderr` fits as it is. */
export interface TerminalRetryNoticeOptions {
  write(text: string): unknown;
  /** `true`: one line that counts down in place. Otherwise one plain line for each event. Default `false`. */
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal, read again at each tick. Default 80. */
  readonly columns?: number | undefined;
  /** What the person can do about it; shown on a terminal only. Default `press c or Ctrl-C to cancel`. */
  readonly hint?: string | undefined;
  /** Where `NO_COLOR` and `TERM` are looked up. Default: the process's own environment. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined;
  readonly effects?: Effects | undefined;
}

/** A retry notice on a terminal. It writes only between `show` and `clear`. */
export interface TerminalRetryNotice {
  /** Shows this wait, in place of the one before. */
  show(event: RetryNoticeEvent): void;
  /** Takes the line away, and with it the timer. What was on the line before is not brought back. */
  clear(): void;
  /** Clears for good: what is shown afterwards is not written. May be called again. */
  stop(): void;
}

const DEFAULT_HINT = 'press c or Ctrl-C to cancel';
const ERASE_LINE = '\r\u001B[2K';

/**
 * A terminal's retry notice: a yellow line with the message, the code and a countdown that moves every second. Without a
 * terminal (a pipe, a log, `TERM=dumb`) it is one plain line for each event, with no colour and no control codes.
 */
export function terminalRetryNotice(options: TerminalRetryNoticeOptions): TerminalRetryNotice {
  const effects = options.effects ?? systemEffects;
  const env = options.env ?? processEnvironment();
  const inPlace = options.isTTY === true && env['TERM'] !== 'dumb';
  const color = inPlace && !env['NO_COLOR'];
  let timer: unknown;
  let shown: { readonly event: RetryNoticeEvent; readonly startedAt: Instant } | undefined;
  let stopped = false;

  const draw = (): void => {
    timer = undefined;
    if (shown === undefined) return;
    const look = countdown(shown.event, shown.startedAt, effects.now());
    const line = noticeLine(shown.event, look, options.columns || 80, options.hint ?? DEFAULT_HINT);
    options.write(`${ERASE_LINE}${color ? yellow(line) : line.lead + line.rest}`);
    if (look.nextChangeMs !== undefined) timer = effects.setTimer(draw, look.nextChangeMs);
  };
  const dropTimer = (): void => {
    if (timer !== undefined) effects.clearTimer(timer);
    timer = undefined;
  };
  const clear = (): void => {
    dropTimer();
    if (shown === undefined) return;
    shown = undefined;
    options.write(ERASE_LINE);
  };
  return {
    show(event) {
      if (stopped) return;
      if (!inPlace) {
        options.write(`${plainLine(event)}\n`);
        return;
      }
      dropTimer();
      shown = { event, startedAt: effects.now() };
      draw();
    },
    clear,
    stop() {
      stopped = true;
      clear();
    },
  };
}

interface NoticeLine {
  /** The countdown. It comes first, so that it keeps its place while the rest is cut to the width. */
  readonly lead: string;
  readonly rest: string;
}

// A message shorter than this says nothing; the hint gives way to it.
const SHORTEST_MESSAGE = 16;

function noticeLine(event: RetryNoticeEvent, look: Countdown, columns: number, hint: string): NoticeLine {
  // One column stays free: a terminal that fills its last column starts a new line, and the next tick would miss it.
  const width = columns - 1;
  const lead = fitColumns(`⚠ ${headline(look)}`, width);
  const message = ` · ${messageWithCode(event)}`;
  const tail = ` · ${hint}`;
  const room = width - displayWidth(lead);
  const besideTail = room - displayWidth(tail);
  const rest =
    besideTail >= Math.min(SHORTEST_MESSAGE, displayWidth(message))
      ? fitColumns(message, besideTail) + tail
      : fitColumns(message, room);
  return { lead, rest };
}

function plainLine(event: RetryNoticeEvent): string {
  return `warning: ${messageWithCode(event)} · retry ${event.attempt + 1} in ${formatDuration(waitMs(event))}`;
}

/** The message, with the code before it unless it already begins with the code. */
function messageWithCode(event: RetryNoticeEvent): string {
  const message = terminalSafe(event.message);
  const code = terminalSafe(codeLabel(event.code));
  if (code === '' || message.startsWith(code) || message.startsWith(event.code ?? code)) return message;
  return message === '' ? code : `${code}: ${message}`;
}

function yellow({ lead, rest }: NoticeLine): string {
  return `\u001B[33m\u001B[1m${lead}\u001B[22m${rest}\u001B[39m`;
}

/** The environment where there is a process, and nothing in a browser. */
function processEnvironment(): { readonly [name: string]: string | undefined } {
  const host = globalThis as { readonly process?: { readonly env?: { readonly [name: string]: string | undefined } } };
  return host.process?.env ?? {};
}
