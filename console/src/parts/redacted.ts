/** Texts that a server puts in the place of what must not be seen. */
const REDACTED = /^\[(redacted|hidden|redacted by sender)\]$/i;

/** True for a text that stands for another. */
export function isRedactedText(value: string): boolean {
  return REDACTED.test(value);
}

/** True when something in the value is not what it is. */
export function isRedacted(value: unknown): boolean {
  if (typeof value === 'string') return isRedactedText(value);
  return typeof value === 'object' && value !== null && Object.values(value).some((one) => isRedacted(one));
}
