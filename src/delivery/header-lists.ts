import type { HeaderLists } from './delivery-request.ts';

/** A header's name as it is usually written: `content-type` is `Content-Type`. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** Names and values in turns, as Node hands them out, by name. */
export function headerLists(raw: readonly string[]): HeaderLists {
  const lists = new Map<string, string[]>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = canonicalName(raw[i] ?? '');
    const values = lists.get(name) ?? [];
    values.push(raw[i + 1] ?? '');
    lists.set(name, values);
  }
  return Object.fromEntries(lists);
}

/** The first value of a header, whatever way its name is written. */
export function firstValue(headers: HeaderLists, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([found]) => found.toLowerCase() === wanted)?.[1][0];
}
