import { cleaned, type Search } from '../parts/place.ts';

/** What the search box understands, by the name of the field it fills. */
export const QUALIFIERS: readonly { readonly name: string; readonly example: string; readonly note: string }[] = [
  { name: 'status', example: 'failed', note: 'a tab: pending, in_flight, scheduled, retrying, failed, delivered, …' },
  { name: 'type', example: 'order.*', note: 'a type, or its beginning with *' },
  { name: 'key', example: 'ord_1', note: 'the ordering key' },
  { name: 'handler', example: 'billing/charge', note: 'a handler, or service/handler' },
  { name: 'service', example: 'billing', note: 'whose handler' },
  { name: 'error', example: 'ECONN', note: 'part of the last error' },
  { name: 'since', example: '2h', note: 'sent since: 15m, 2h, 3d, or a date' },
  { name: 'until', example: '1h', note: 'sent before' },
  { name: 'payload.', example: 'customer.id:42', note: 'a value in the payload' },
];

const PART = /([a-z]+(?:\.[^\s:"]+)*):(?:"((?:[^"\\]|\\.)*)"|(\S*))|"([^"]*)"|(\S+)/gi;

function isField(name: string): boolean {
  return name.startsWith('payload.') || QUALIFIERS.some((one) => one.name === name);
}

/** The fields that a typed search means. Words without a qualifier are looked for as part of an error, an id is opened by itself. */
export function searchOf(text: string): Record<string, string> {
  const search: Record<string, string> = {};
  const words: string[] = [];
  for (const [whole, name = '', quoted, bare, loose, word] of text.matchAll(PART)) {
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '';
    if (name === '') words.push(loose ?? word ?? '');
    else if (!isField(name)) words.push(whole);
    else if (value !== '') search[name] = value;
  }
  if (words.length > 0 && search['error'] === undefined) search['error'] = words.join(' ');
  return search;
}

/** The text of the search box that means these fields. */
export function textOf(search: Search): string {
  return Object.entries(cleaned(search))
    .filter(([name]) => isField(name) && name !== 'status')
    .map(([name, value]) => `${name}:${/[\s"]/.test(value) ? JSON.stringify(value) : value}`)
    .join(' ');
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
