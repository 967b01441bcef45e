import { HoldfastError } from '../kernel/error.ts';
import { type ByteSource, DEFAULT_MAX_CHARS, textLines } from './text-lines.ts';

/** One event as one line of JSON with its line end, for HTTP bodies (`application/x-ndjson`), sockets and files. */
export function serializeEventLine(event: object): string {
  return `${JSON.stringify(event)}\n`;
}

/**
 * Reads event lines back, wherever the transport cut them; blank lines are skipped. Check each value before use, for
 * example with `isProviderRetryEvent`. Throws `EVENT_LINE_INVALID` for a line that is not JSON, which is what the last
 * line of a cut connection looks like, and `STREAM_EVENT_TOO_LARGE` above `maxEventChars` (default 16 Mi).
 */
export async function* parseEventLines(
  source: ByteSource,
  options: { readonly maxEventChars?: number | undefined } = {},
): AsyncGenerator<unknown, void, undefined> {
  let number = 0;
  for await (const text of textLines(source, options.maxEventChars ?? DEFAULT_MAX_CHARS)) {
    number += 1;
    if (text.trim() !== '') yield parseLine(text, number);
  }
}

function parseLine(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HoldfastError('EVENT_LINE_INVALID', { line }, { cause });
  }
}
