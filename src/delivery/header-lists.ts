import type { HeaderLists } from './delivery-request.ts';

// They are few, and come with every answer. What is beyond is made each time.
const MOST_KNOWN = 1_000;
const known = new Map<string, string>();

/** A header's name as it is usually written: `content-type` is `Content-Type`. */
export function canonicalName(name: string): string {
  const found = known.get(name);
  if (found !== undefined) return found;
  const made = written(name);
  if (known.size < MOST_KNOWN && name.length < 100) known.set(name, made);
  return made;
}

function written(name: string): string {
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
