import { textField } from './field.ts';
import { isBare } from './programming-error.ts';
import type { Reading } from './rule.ts';
import type { Thrown } from './thrown.ts';

/**
 * What the `fetch` of a browser says when the connection failed, or broke in the middle of a body. It gives neither a code nor a
 * cause, so the class and the whole message decide. A mistake in the call has another message ("Failed to execute 'fetch' on …").
 */
const FAILED_FETCHES: readonly RegExp[] = [
  // Chromium; newer versions append the host.
  /^Failed to fetch(?: \([^)]*\))?$/,
  /^network error$/,
  // Firefox.
  /^NetworkError when attempting to fetch resource\.?$/,
  /^Error in (?:body|input) stream\.?$/,
  // Safari; versions before 16 give the words of the system.
  /^Load failed(?: \([^)]*\))?$/,
  /^The network connection was lost\.?$/,
  /^The Internet connection appears to be offline\.?$/,
  /^Could not connect to the server\.?$/,
  /^A server with the specified hostname could not be found\.?$/,
  /^The request timed out\.?$/,
];

const BROWSER_ERRORS: ReadonlySet<string> = new Set(['TypeError']);

/** The network error of a browser's `fetch`. Those of Node and undici have a cause, and are read from its code. */
export function readFailedFetch(thrown: Thrown): Reading | undefined {
  if (!isBare(thrown, BROWSER_ERRORS)) return undefined;
  const message = textField(thrown.error, 'message') ?? '';
  return FAILED_FETCHES.some((known) => known.test(message)) ? { kind: 'network', verdict: 'retry' } : undefined;
}
