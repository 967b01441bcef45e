import type { Document } from 'mongodb';

/** JSON as it lies in a document: an object or a list as such, everything else as its text. */
export type StoredJson = string | Document;

/** BSON ends at 100 levels, with those of the document and of the query around it. */
const MOST_LEVELS = 50;

/**
 * JSON text as a field of a document, from which `jsonText` gives back the same text, character by character: people and queries find
 * `payload.orderId`. It stays text where BSON or the driver would change it: spaces, numbers beyond a double, a key twice, half a
 * surrogate pair, names that MongoDB takes for operators, paths or types of its own, and what is nested deeper than 50.
 */
export function storedJson(text: string): StoredJson {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return text;
  return isPlain(value, 0) && JSON.stringify(value) === text ? value : text;
}

/** The text that was stored. */
export function jsonText(stored: StoredJson): string {
  return typeof stored === 'string' ? stored : JSON.stringify(stored);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPlain(value: unknown, level: number): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (level === MOST_LEVELS) return false;
  return Object.entries(value).every(([name, inner]) => isName(name) && isPlain(inner, level + 1));
}

function isName(name: string): boolean {
  return name.isWellFormed() && !/^\$|[.\0]/.test(name) && !RESERVED.has(name);
}

const RESERVED: ReadonlySet<string> = new Set(['__proto__', '_bsontype']);
