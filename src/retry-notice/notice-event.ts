/**
 * What the notices show: the `provider-retry` event of a stream, or anything of its shape. `delayMs` counts from when
 * the event is shown, so a server that sends it again later (after a reload, say) puts in what is left of the wait.
 */
export interface RetryNoticeEvent {
  readonly type?: 'provider-retry';
  readonly conversationId?: string | undefined;
  readonly turnId?: string | undefined;
  /** 0 is the first retry. */
  readonly attempt: number;
  /** How long until the retry, in milliseconds. What is no positive number counts as 0, more than a year as a year. */
  readonly delayMs: number;
  /** The provider's own words. Shown as text, never as markup or as terminal codes. */
  readonly message: string;
  /** The HTTP status, or the provider's own code. */
  readonly code?: string | undefined;
}

// Longer cannot be told from never, and dates end some day.
const LONGEST_WAIT_MS = 365 * 24 * 3_600_000;

/** The event's delay as something that can be counted down, whatever came over the wire. */
export function waitMs({ delayMs }: Pick<RetryNoticeEvent, 'delayMs'>): number {
  return delayMs > 0 ? Math.min(delayMs, LONGEST_WAIT_MS) : 0;
}

/** The code as people say it: three digits are an HTTP status, anything else stands for itself. */
export function codeLabel(code: string | undefined): string {
  if (code === undefined || code === '') return '';
  return /^[1-5]\d\d$/.test(code) ? `HTTP ${code}` : code;
}
