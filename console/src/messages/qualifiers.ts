import { misspeltName, QUERY_QUALIFIERS, queryParts } from '../../../src/operator/message-query.ts';
import { cleaned, type Search } from '../parts/place.ts';

/** What the search box understands: the query language of the command line. An id is opened, not searched for. */
export const QUALIFIERS = QUERY_QUALIFIERS.filter(({ name }) => name !== 'id');

function isField(name: string): boolean {
  return name.startsWith('payload.') || QUALIFIERS.some((one) => one.name === name);
}

/** The fields that a typed search means. Words without a qualifier are looked for as part of an error, an id is opened by itself. */
export function searchOf(text: string): Record<string, string> {
  const search: Record<string, string> = {};
  const words: string[] = [];
  for (const { text: whole, name, value, isQuoted } of queryParts(text)) {
    if (name === undefined) words.push(value);
    else if (!isField(name)) words.push(whole);
    // In a payload, a value in quotes is a text whatever it looks like.
    else if (value !== '') search[name] = isQuoted && name.startsWith('payload.') ? JSON.stringify(value) : value;
  }
  if (words.length > 0 && search['error'] === undefined) search['error'] = words.join(' ');
  return search;
}

/** What is wrong with a typed search, where a qualifier was meant that does not exist: taken for words, it would find nothing. */
export function problemOf(text: string): string | undefined {
  for (const { name } of queryParts(text)) {
    const problem = name === undefined || isField(name) ? undefined : misspeltName(name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The text of the search box that means these fields. */
export function textOf(search: Search): string {
  return Object.entries(cleaned(search))
    .filter(([name]) => isField(name) && name !== 'status')
    .map(([name, value]) => `${name}:${isWrittenOut(name, value) ? value : JSON.stringify(value)}`)
    .join(' ');
}

function isWrittenOut(name: string, value: string): boolean {
  return !/[\s"]/.test(value) || (name.startsWith('payload.') && value.startsWith('"'));
}

/** Only the fields that are searched by. */
export function filterOf(search: Search): Record<string, string> {
  return Object.fromEntries(Object.entries(cleaned(search)).filter(([name]) => isField(name)));
}

/** What may follow what is typed last, at most eight. */
export function completions(text: string, known: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const last = /\S*$/.exec(text)?.[0] ?? '';
  const [, name, begun] = /^([a-z]+):(.*)$/i.exec(last) ?? [];
  if (name === undefined) {
    return QUALIFIERS.filter((one) => one.name.startsWith(last.toLowerCase()))
      .map((one) => (one.name === 'payload.' ? 'payload.' : `${one.name}:`))
      .slice(0, 9);
  }
  const values = known[name] ?? [];
  return values
    .filter((value) => value.toLowerCase().startsWith((begun ?? '').toLowerCase()) && value !== begun)
    .slice(0, 8)
    .map((value) => `${name}:${/\s/.test(value) ? JSON.stringify(value) : value}`);
}
