import { HoldfastError } from '../kernel/error.ts';
import { type ByteSource, DEFAULT_MAX_CHARS, textLines } from './text-lines.ts';

/** A server-sent event, or a comment line, which servers send to keep the connection alive. */
export type SseEvent =
  | {
      readonly kind: 'event';
      /** `'message'` when the server named none. */
      readonly event: string;
      /** All `data` lines, joined with line feeds. */
      readonly data: string;
      /** The last id seen so far; empty when none was. */
      readonly id: string;
    }
  | { readonly kind: 'comment'; readonly text: string };

/**
 * Reads server-sent events from a response body, wherever its chunks were cut. An event that the end of the stream cuts
 * off is dropped. An event with a name but without data counts. Throws `STREAM_EVENT_TOO_LARGE` when one event holds more
 * than `maxEventChars` (default 16 Mi).
 */
export async function* sseEvents(
  source: ByteSource,
  options: { readonly maxEventChars?: number | undefined } = {},
): AsyncGenerator<SseEvent, void, undefined> {
  const limitChars = options.maxEventChars ?? DEFAULT_MAX_CHARS;
  let event = '';
  let data: string[] = [];
  let size = 0;
  let id = '';
  for await (const line of textLines(source, limitChars)) {
    if (line === '') {
      if (event !== '' || data.length > 0)
        yield { kind: 'event', event: event || 'message', data: data.join('\n'), id };
      event = '';
      data = [];
      size = 0;
      continue;
    }
    if (line.startsWith(':')) {
      yield { kind: 'comment', text: line.slice(1).trim() };
      continue;
    }
    const [name, value] = fieldOf(line);
    size += value.length;
    if (size > limitChars) throw new HoldfastError('STREAM_EVENT_TOO_LARGE', { limitChars });
    if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
    else if (name === 'id' && !value.includes('\0')) id = value;
  }
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}
