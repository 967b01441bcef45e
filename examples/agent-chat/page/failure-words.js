// @ts-check
import { formatDuration } from 'holdfast/retry-notice';

/**
 * What people are told about a turn that failed.
 *
 * @param {import('../turn-event.ts').TurnFailure} failure
 * @returns {import('./failure-words.d.ts').FailureWords}
 */
export function failureWords(failure) {
  const { cutOff, retries, waitedMs } = failure;
  if (cutOff) {
    return {
      title: 'Answer cut off',
      text: 'It broke off before its end. What came is kept, and not asked for again by itself, so nothing is said twice.',
      detail: `The error says: ${withCode(failure)}`,
    };
  }
  const title = retries === 0 ? 'No answer' : `Gave up after ${retriesAndWaiting(retries, waitedMs)}`;
  return { title, text: withCode(failure) };
}

/**
 * `21 retries and 7 h 32 min of waiting`.
 *
 * @param {number} retries
 * @param {number} waitedMs
 */
export function retriesAndWaiting(retries, waitedMs) {
  const waited = waitedMs < 60_000 ? `${Number((waitedMs / 1_000).toFixed(1))} s` : formatDuration(waitedMs);
  return `${retries} ${retries === 1 ? 'retry' : 'retries'} and ${waited} of waiting`;
}

/**
 * The message without the code it begins with, for where the code is shown beside it: clients such as openai put the
 * status into their messages. For showing only; what is sent and kept stays word for word.
 *
 * @param {{ readonly message: string, readonly code?: string }} said
 */
export function withoutLeadingCode({ message, code }) {
  if (code === undefined || !message.startsWith(code) || /^\w/.test(message.slice(code.length))) return message;
  return message.slice(code.length).trimStart();
}

/** @param {{ readonly message: string, readonly code?: string }} said */
function withCode(said) {
  if (said.code === undefined) return said.message;
  return `${/^\d+$/.test(said.code) ? `HTTP ${said.code}` : said.code}: ${withoutLeadingCode(said)}`;
}
