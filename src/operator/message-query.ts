import { nearest } from '../kernel/check-options.ts';
import { isBadId, parseDeliveryId } from './delivery-id.ts';
import { MESSAGE_TABS, type MessageFilter, type MessageTab } from './message-list.ts';
import type { PayloadMatch } from './operator.ts';

/** One word of the query language: what stands before the colon. */
export interface QueryQualifier {
  readonly name: string;
  /** One line for completion. */
  readonly summary: string;
  readonly example: string;
  /** Where only these are known. */
  readonly values?: readonly string[];
}

/** Every qualifier, in the order a list of them shows. `payload.` goes on with a path. */
export const QUERY_QUALIFIERS: readonly QueryQualifier[] = [
  { name: 'status', summary: 'where it stands', example: 'status:failed', values: MESSAGE_TABS },
  { name: 'type', summary: 'a type, or its beginning with *', example: 'type:order.*' },
  { name: 'key', summary: 'the key', example: 'key:ord_1' },
  { name: 'service', summary: 'whose handler', example: 'service:billing' },
  { name: 'handler', summary: 'a handler, or service/handler', example: 'handler:email' },
  { name: 'error', summary: 'part of the last error', example: 'error:ECONN' },
  { name: 'payload.', summary: 'a value in the payload', example: 'payload.customer.id:42' },
  { name: 'since', summary: 'sent within this time, or after a date', example: 'since:2h' },
  { name: 'until', summary: 'sent before this time, or before a date', example: 'until:15m' },
  { name: 'id', summary: 'one message', example: 'id:0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11' },
];

/** A part of a query that could not be read. */
export interface QueryProblem {
  /** The part, as it was written. */
  readonly part: string;
  /** Where it begins in the text. */
  readonly at: number;
  /** What is wrong and what to write, in one sentence. */
  readonly problem: string;
}

/** What a query means. */
export interface MessageQuery {
  readonly filter: MessageFilter;
  /** One message, by its id: there is nothing to search then. */
  readonly id: string | undefined;
  readonly problems: readonly QueryProblem[];
}

/** One part of a query: a qualifier with its value, or a bare word. */
interface QueryPart {
  readonly text: string;
  readonly at: number;
  /** Before the colon; absent for a bare word. */
  readonly name: string | undefined;
  readonly value: string;
  /** The value stood in quotes: it is text, whatever it looks like. */
  readonly isQuoted: boolean;
}

type Fields = { -readonly [Field in keyof MessageFilter]: MessageFilter[Field] };

const TEXTS = ['type', 'key', 'service', 'handler', 'error'] as const;

/**
 * Reads a query such as `type:order.* status:failed payload.customer.id:42 since:2h`. Parts are set apart by spaces and must all
 * fit. A value with spaces stands in double quotes, `key:"two words"`, with `\"` for a quote; in a payload a quoted value is text
 * and a bare one is a number, `true`, `false` or `null` where it looks like one. Never throws: what cannot be read is told in
 * `problems`, and the rest is still there.
 */
export function parseMessageQuery(text: string, nowMs: number): MessageQuery {
  const fields: Fields = {};
  const payload: PayloadMatch[] = [];
  const problems: QueryProblem[] = [];
  const seen = new Set<string>();
  let id: string | undefined;
  for (const part of queryParts(text)) {
    const refuse = (problem: string): void => void problems.push({ part: part.text, at: part.at, problem });
    const name = part.name ?? (isId(part.value) ? 'id' : undefined);
    if (name === undefined) {
      refuse(bareWord(part));
      continue;
    }
    if (part.value === '') {
      refuse(`${name}: has no value; write for example ${exampleOf(name)}`);
      continue;
    }
    if (seen.has(name)) {
      refuse(`${name}: was given twice; leave one out`);
      continue;
    }
    seen.add(name);
    const problem =
      name === 'id'
        ? readId(part.value, (found) => (id = found))
        : name.startsWith('payload')
          ? readPayload(name, part, payload)
          : readField(name, part.value, fields, nowMs);
    if (problem !== undefined) refuse(problem);
  }
  if (payload.length > 0) fields.payload = payload;
  return { filter: fields, id, problems };
}

/** The query that means this filter; the other way round of `parseMessageQuery`. Times are written as dates. */
export function formatMessageQuery({ payload = [], ...filter }: MessageFilter): string {
  const parts: string[] = [];
  for (const name of ['status', ...TEXTS] as const) {
    const value = filter[name];
    if (value !== undefined) parts.push(`${name}:${quoted(value)}`);
  }
  for (const { path, value } of payload) {
    // A text that looks like a number is told from one by its quotes.
    const isText = typeof value === 'string' && typeof payloadValue(value) !== 'string';
    const written = isText ? JSON.stringify(value) : quoted(String(value));
    parts.push(`payload.${path.map(quotedStep).join('.')}:${written}`);
  }
  for (const name of ['since', 'until'] as const) {
    const at = filter[name];
    if (at !== undefined) parts.push(`${name}:${at.toISOString()}`);
  }
  return parts.join(' ');
}

/** The value a bare word means in a payload: a number, `true`, `false`, `null`, or the word. */
export function payloadValue(word: string): PayloadMatch['value'] {
  if (word === 'null') return null;
  if (word === 'true' || word === 'false') return word === 'true';
  // Only what JSON writes as a number, and what a number can hold: 007 and a 20-digit id are text.
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word);
  const number = Number(word);
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number);
  return isNumber && Number.isFinite(number) && isExact ? number : word;
}

/** The steps of a path: `customer.id`, or with quotes where a name has a dot, `"a.b".c`. Nothing when one is empty. */
export function payloadPath(text: string): readonly string[] | undefined {
  if (!/^(?:"(?:[^"\\]|\\.)+"|[^."]+)(?:\.(?:"(?:[^"\\]|\\.)+"|[^."]+))*$/.test(text)) return undefined;
  const steps = text.match(/"(?:[^"\\]|\\.)+"|[^."]+/g) ?? [];
  return steps.map((step) => (step.startsWith('"') ? unescaped(step.slice(1, -1)) : step));
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The time that `2h` (so long ago), `2026-01-31` or `2026-01-31T12:00Z` means; nothing for any other text. */
export function queryTime(text: string, nowMs: number): Date | undefined {
  // As a whole first: to look for parts in a long row of digits takes the square of its length.
  const isLength = /^(?:\d+(?:\.\d+)?[smhdw])+$/.test(text);
  const lengths = isLength ? [...text.matchAll(/(\d+(?:\.\d+)?)(s|m|h|d|w)/g)] : [];
  const ago = lengths.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
  const at = isLength ? nowMs - ago : /^\d{4}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  // Nothing of ours is older, and the database knows no year -270,000.
  return Number.isNaN(at) ? undefined : new Date(Math.max(0, at));
}

function readId(value: string, found: (id: string) => void): string | undefined {
  const id = parseDeliveryId(value);
  if (isBadId(id)) return `id: takes a message's id; ${id.problem}`;
  found(value);
  return undefined;
}

function readPayload(name: string, { value, isQuoted }: QueryPart, payload: PayloadMatch[]): string | undefined {
  const path = name.startsWith('payload.') ? payloadPath(name.slice('payload.'.length)) : undefined;
  if (path === undefined) return `${name}: names no place in the payload; write for example payload.customer.id:42`;
  payload.push({ path, value: isQuoted ? value : payloadValue(value) });
  return undefined;
}

function readField(name: string, value: string, fields: Fields, nowMs: number): string | undefined {
  const text = TEXTS.find((one) => one === name);
  if (text !== undefined) {
    if (text === 'type' && /\*./.test(value)) return 'type: takes one * at its end, such as type:order.*';
    fields[text] = value;
    return undefined;
  }
  if (name === 'status') {
    const status = statusOf(value);
    if (status === undefined) return `status: is ${MESSAGE_TABS.join(', ')}`;
    fields.status = status;
    return undefined;
  }
  if (name === 'since' || name === 'until') {
    const at = queryTime(value, nowMs);
    if (at === undefined) return `${name}: is a time such as 15m, 2h or 7d ago, or a date such as 2026-01-31T12:00Z`;
    fields[name] = at;
    return undefined;
  }
  return unknownName(name);
}

function statusOf(value: string): MessageTab | undefined {
  const word = value.toLowerCase().replace('-', '_');
  return MESSAGE_TABS.find((one) => one === word);
}

const NAMES = QUERY_QUALIFIERS.map(({ name }) => name).filter((name) => name !== 'payload.');

/** What somebody who wrote this name in front of a colon may have meant, where it is close to one that there is. */
export function misspeltName(name: string): string | undefined {
  const near = name.startsWith('payloa') ? 'payload.' : nearest(name, NAMES);
  return near === undefined ? undefined : `there is no ${name}:; did you mean ${near}${near.endsWith('.') ? '' : ':'}?`;
}

function unknownName(name: string): string {
  const all = NAMES.map((one) => `${one}:`).join(', ');
  return misspeltName(name) ?? `there is no ${name}:; known are ${all} and payload.<path>:`;
}

function bareWord({ value }: QueryPart): string {
  if (statusOf(value) !== undefined) return `a word alone means nothing; did you mean status:${value}?`;
  const guess = value.includes('.') || value.includes('*') ? 'type' : 'key';
  return `a word alone means nothing; did you mean ${guess}:${quoted(value)}?`;
}

function isId(word: string): boolean {
  return !isBadId(parseDeliveryId(word));
}

function exampleOf(name: string): string {
  return QUERY_QUALIFIERS.find((one) => one.name === name)?.example ?? 'payload.customer.id:42';
}

/** The parts of a query, with the quotes taken away. A quote that is never closed reaches to the end. */
export function* queryParts(text: string): Generator<QueryPart> {
  // A name may have quoted steps; a value is quoted as a whole, or a run of anything but spaces.
  const form = /((?:"(?:[^"\\]|\\.)*"|[^\s":])+):(?:"((?:[^"\\]|\\.)*)(?:"|$)|(\S*))|"((?:[^"\\]|\\.)*)(?:"|$)|(\S+)/g;
  for (const match of text.matchAll(form)) {
    const [whole, before, inQuotes, bare, quotedWord, word] = match;
    const isIdAlone = before !== undefined && isId(whole);
    const name =
      isIdAlone || before === undefined ? undefined : before.replace(/^[A-Za-z]+/, (first) => first.toLowerCase());
    const value = isIdAlone ? whole : (inQuotes ?? quotedWord);
    const isQuoted = value !== undefined && !isIdAlone;
    yield {
      text: whole,
      at: match.index,
      name,
      value: isQuoted ? unescaped(value) : (value ?? bare ?? word ?? ''),
      isQuoted,
    };
  }
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}

function quoted(value: string): string {
  return /^[^\s"]+$/.test(value) ? value : escaped(value);
}

function quotedStep(step: string): string {
  return /^[^\s".:]+$/.test(step) ? step : escaped(step);
}

function escaped(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}
