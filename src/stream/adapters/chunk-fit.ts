import { HoldfastError } from '../../kernel/error.ts';
import { field, textField } from '../../retry/classify/field.ts';
import type { SseEvent } from '../sse-events.ts';

/** True for what `sseEvents` gives. */
export function isSseEvent(chunk: unknown): chunk is SseEvent {
  const kind = field(chunk, 'kind');
  if (kind === 'comment') return typeof field(chunk, 'text') === 'string';
  return kind === 'event' && typeof field(chunk, 'event') === 'string' && typeof field(chunk, 'data') === 'string';
}

/**
 * The `type` of an event in a format whose events all have one; '' when an object has none. Throws `INVALID_OPTIONS` for
 * what cannot be such an event: bytes, text, a chunk of another format.
 */
export function eventType(adapter: string, chunk: unknown): string {
  const type = textField(chunk, 'type');
  if (type !== undefined) return type;
  if (!isPlainObject(chunk) || isSseEvent(chunk) || Array.isArray(field(chunk, 'choices'))) {
    throw wrongAdapter(adapter, chunk);
  }
  return '';
}

/** True for an object that is neither a list nor bytes. */
export function isPlainObject(chunk: unknown): boolean {
  return typeof chunk === 'object' && chunk !== null && !Array.isArray(chunk) && !isBytes(chunk);
}

/** The refusal of a chunk that this adapter cannot read. It names the kind of chunk, never what is in it. */
export function wrongAdapter(adapter: string, chunk: unknown): HoldfastError<'INVALID_OPTIONS'> {
  const found = `${adapter}, which cannot read ${described(chunk)}`;
  const problems = [{ option: 'adapter', found, write: remedy(adapter, chunk) }];
  return new HoldfastError('INVALID_OPTIONS', { of: 'retryStream()', problems });
}

function isBytes(chunk: unknown): boolean {
  return ArrayBuffer.isView(chunk) || chunk instanceof ArrayBuffer;
}

function described(chunk: unknown): string {
  if (typeof chunk === 'string') return 'text';
  if (chunk === null || chunk === undefined) return 'nothing';
  if (typeof chunk !== 'object') return `a ${typeof chunk}`;
  if (isBytes(chunk)) return 'bytes';
  if (isSseEvent(chunk)) return 'server-sent events';
  if (Array.isArray(field(chunk, 'choices'))) return 'chunks with choices';
  const type = textField(chunk, 'type');
  return type === undefined ? 'an object it does not know' : `a "${type.slice(0, 60)}" event`;
}

function remedy(adapter: string, chunk: unknown): string {
  const isRaw = typeof chunk === 'string' || isBytes(chunk);
  if (isRaw && adapter === 'aiSdk') return 'give the stream of all parts from open: streamText(…).stream';
  if (isRaw && adapter === 'sse()') return 'give sseEvents(response.body) from open';
  if (isRaw) return `give sseEvents(response.body) from open and use sse({ payload: ${adapter} })`;
  if (isSseEvent(chunk)) return `use sse({ payload: ${adapter} })`;
  return 'use the adapter for what open gives: openaiChat, openaiResponses, anthropicMessages, aiSdk, sse() or { reader }';
}
