import type { PayloadMatch } from '../../operator/operator.ts';
import { jsonText, type StoredJson } from '../stored-json.ts';

/** All values are at their places in the payload. */
export function hasValues(payload: StoredJson, matches: readonly PayloadMatch[]): boolean {
  if (matches.length === 0) return true;
  const root: unknown = JSON.parse(jsonText(payload));
  return matches.every(({ path, value }) => valueAt(root, path) === value);
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let at = root;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}
