import { hideSecrets } from '../kernel/hide-secrets.ts';
import { field, textField } from '../retry/classify/field.ts';
import { lookAt } from '../retry/classify/thrown.ts';
import type { Failure } from '../retry/failure.ts';
import type { DeliveryError } from './relay-store.ts';

const MAX_NAME_BYTES = 120;
const MAX_MESSAGE_BYTES = 1_024;
const MAX_CAUSE_BYTES = 160;
const MAX_CAUSES = 3;
const MAX_STACK_BYTES = 4_096;
const MAX_STACK_LINES = 20;
// Far above what is kept, so that what is hidden does not make room for a secret that was cut in two.
const MAX_READ = 16_384;

/**
 * A thrown value as it is kept with its delivery: what it is called and says, the same of up to three causes behind it, and
 * the first 20 places of its stack. Secrets are hidden; the message has at most 1 kB, the stack at most 4 kB, of text that any
 * database takes. Never throws, whatever was thrown.
 */
export function toDeliveryError(thrown: unknown, failure: Failure): DeliveryError {
  const code = safely(() => failure.code ?? codeOf(thrown), undefined);
  const stack = safely(() => stackOf(thrown), undefined);
  return {
    name: safely(() => nameOf(thrown), 'unreadable'),
    message: safely(() => messageWithCauses(thrown), 'what was thrown could not be read'),
    ...(code === undefined ? {} : { code: kept(code, MAX_NAME_BYTES) }),
    kind: failure.kind,
    ...(failure.verdict === 'fail' && { isFinal: true as const }),
    ...(stack === undefined ? {} : { stack }),
  };
}

/** A thrown value may be anything, a revoked proxy too, which throws at every touch. */
function safely<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

function nameOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return thrown === null ? 'null' : typeof thrown;
  const { name } = lookAt(thrown);
  return kept(typeof name === 'string' && name !== '' ? name : 'object', MAX_NAME_BYTES);
}

function codeOf(thrown: unknown): string | undefined {
  const { textCode, numberCode } = lookAt(thrown);
  return textCode || (numberCode === undefined ? undefined : String(numberCode));
}

function messageWithCauses(thrown: unknown): string {
  const causes = causesOf(thrown).map((cause) => kept(described(cause), MAX_CAUSE_BYTES));
  const tail = causes.map((cause) => ` · because of ${cause}`).join('');
  return kept(messageOf(thrown), MAX_MESSAGE_BYTES - byteLength(tail)) + tail;
}

function described(cause: unknown): string {
  const name = safely(() => nameOf(cause), 'unreadable');
  const message = safely(() => messageOf(cause), '');
  return message === '' ? name : `${name}: ${message}`;
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null) return textField(thrown, 'message') ?? fieldsOf(thrown);
  return typeof thrown === 'function' ? 'a function was thrown' : String(thrown);
}

/** The names alone: the values of an object nobody knows may be anything. */
function fieldsOf(thrown: object): string {
  if (thrown instanceof Error) return '';
  const names = Object.keys(thrown);
  return names.length === 0 ? '' : `an object with ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
}

/** What is behind an error, from the outside in; where it has no cause but several errors, the first of these. */
function causesOf(thrown: unknown): unknown[] {
  const found: unknown[] = [];
  const seen = new Set<unknown>([thrown]);
  for (let next: unknown = thrown; found.length < MAX_CAUSES;) {
    const inner = field(next, 'cause') ?? field(field(next, 'errors'), '0');
    if (inner === undefined || inner === null || seen.has(inner)) break;
    seen.add(inner);
    found.push(inner);
    next = inner;
  }
  return found;
}

/** Without the message, which stands at the head of it in some engines. */
function stackOf(thrown: unknown): string | undefined {
  const stack = textField(thrown, 'stack');
  if (stack === undefined) return undefined;
  const first = stack.indexOf('\n    at ');
  const text = first < 0 ? stack.slice(0, MAX_READ) : stack.slice(first, first + MAX_READ);
  const places = text.split('\n').filter((line) => /^\s{1,8}at\s|^[^\s]{0,200}@.+:\d+$/.test(line));
  if (places.length === 0) return undefined;
  return kept(places.slice(0, MAX_STACK_LINES).join('\n'), MAX_STACK_BYTES);
}

/** Text that can be stored and shown: no control characters but tabs and line ends, no halves of characters, no secrets. */
function kept(text: string, maxBytes: number): string {
  const clean = text
    .slice(0, MAX_READ)
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .toWellFormed();
  return cut(hideSecrets(text.length > MAX_READ ? withoutLastWord(clean) : clean), maxBytes);
}

/** A word that was cut in two may be a secret that is not known as one any more. */
function withoutLastWord(text: string): string {
  let end = text.length;
  while (end > 0 && !/\s/.test(text[end - 1] ?? ' ')) end--;
  return text.slice(0, end);
}

const CUT = '…';
const encoder = new TextEncoder();

function cut(text: string, maxBytes: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(maxBytes));
  if (read === text.length) return text;
  const room = new Uint8Array(maxBytes - byteLength(CUT));
  return text.slice(0, encoder.encodeInto(text, room).read) + CUT;
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}
