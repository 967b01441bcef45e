export { type Countdown, countdown, formatDuration } from './countdown.ts';
export { defineRetryNotice, RetryNoticeElement, type RetryNoticeState } from './element.ts';
export type { RetryNoticeEvent } from './notice-event.ts';
export { type TerminalRetryNotice, terminalRetryNotice, type TerminalRetryNoticeOptions } from './terminal.ts';
