import { OptionCheck } from '../kernel/check-options.ts';
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
 * off is dropped. An event with a name but without data counts. Throws `INVALID_OPTIONS` at once for what is no body; while
 * reading, `STREAM_NOT_SSE` when the body begins with something else, and `STREAM_EVENT_TOO_LARGE` when one event holds
 * more than `maxEventChars` (default 16 Mi).
 */
export function sseEvents(
  source: ByteSource,
  options: { readonly maxEventChars?: number | undefined } = {},
): AsyncGenerator<SseEvent, void, undefined> {
  const { maxEventChars = DEFAULT_MAX_CHARS } = options;
  const check = new OptionCheck('sseEvents()');
  checkSource(check, source);
  check.number('maxEventChars', maxEventChars, { min: 1, max: Infinity, write: 'write a number from 1' });
  check.done();
  return readEvents(source, maxEventChars);
}

async function* readEvents(source: ByteSource, limitChars: number): AsyncGenerator<SseEvent, void, undefined> {
  let event = '';
  let data: string[] = [];
  let size = 0;
  let id = '';
  let begun = false;
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
      begun = true;
      yield { kind: 'comment', text: line.slice(1).trim() };
      continue;
    }
    const [name, value] = fieldOf(line);
    if (!begun && !mayBeField(name)) throw new HoldfastError('STREAM_NOT_SSE', { found: formatOf(line) });
    begun = true;
    size += value.length;
    if (size > limitChars) throw new HoldfastError('STREAM_EVENT_TOO_LARGE', { limitChars });
    if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
    else if (name === 'id' && !value.includes('\0')) id = value;
  }
}

function checkSource(check: OptionCheck, source: unknown): void {
  const { getReader, [Symbol.asyncIterator]: iterate } = (source ?? {}) as Readonly<Record<string | symbol, unknown>>;
  if (typeof iterate === 'function' || typeof getReader === 'function') return;
  const isResponse = typeof source === 'object' && source !== null && 'body' in source;
  if (isResponse) check.add({ option: 'source', found: 'a Response', write: 'pass its body' });
  else check.refuse('source', source, 'pass the body of a response, which is null if there is none');
}

const FIELDS = ['data', 'event', 'id', 'retry'];

/** Its beginning is enough: a stream may be cut in the middle of its first word. */
function mayBeField(name: string): boolean {
  return FIELDS.some((field) => field.startsWith(name));
}

/** What a body that is no event stream seems to be; never its words, which may be secret. */
function formatOf(line: string): string {
  const first = line.trimStart().charAt(0);
  return first === '{' || first === '[' ? 'JSON' : first === '<' ? 'HTML or XML' : 'something else';
}

function fieldOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}
