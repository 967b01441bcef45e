// A cycle is found by depth: JSON that is nested deeper than this is a mistake as well.
const MAX_DEPTH = 100;
// What is in them is nowhere in their JSON.
const EMPTIED = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'Promise', 'RegExp', 'Error', 'ArrayBuffer', 'DataView']);

/**
 * The first place that JSON would change in silence or a database cannot hold (NaN, bigint, a Map, an unawaited Promise, NUL, half
 * a surrogate pair, a cycle, nothing at all), in words and without the value; nothing when all is well.
 */
export function findUnstorable(value: unknown, place: string): string | undefined {
  return findIn(value, place, 0);
}

function findIn(value: unknown, place: string, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return findUnstorableText(value, place);
    case 'number':
      return Number.isFinite(value) ? undefined : `${place} is ${value}, which JSON turns into null`;
    case 'boolean':
      return undefined;
    case 'object':
      return value === null ? undefined : findInObject(value, place, depth);
    default:
      return `${place} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which JSON cannot hold`;
  }
}

function findUnstorableText(text: string, place: string): string | undefined {
  if (text.includes('\u0000')) return `${place} holds a NUL character, which the database cannot store`;
  return text.isWellFormed() ? undefined : `${place} holds half of a surrogate pair, which is no valid text`;
}

function findInObject(value: object, place: string, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `${place.slice(0, 60)}… is nested deeper than ${MAX_DEPTH}, or in a circle`;
  const shown: unknown = 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (shown === null && value instanceof Date) return `${place} is an invalid Date, which JSON turns into null`;
  if (typeof shown !== 'object' || shown === null) return findIn(shown, place, depth + 1);
  const kind = Object.prototype.toString.call(shown).slice('[object '.length, -1);
  if (EMPTIED.has(kind) || ArrayBuffer.isView(shown)) {
    return `${place} is ${/^[AEI]/.test(kind) ? 'an' : 'a'} ${kind}, ${kind === 'Promise' ? 'so await it first' : 'which JSON does not keep'}`;
  }
  if (Array.isArray(shown)) return findInList(shown, place, depth);
  for (const [name, item] of Object.entries(shown)) {
    // JSON leaves out a field that is undefined, as everybody expects.
    if (item === undefined) continue;
    const problem = findUnstorableText(name, `a name in ${place}`) ?? findIn(item, `${place}.${name}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A list with a hole, or with undefined in it, has null there as JSON. */
function findInList(list: readonly unknown[], place: string, depth: number): string | undefined {
  for (const [index, item] of list.entries()) {
    const problem = findIn(item, `${place}.${index}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
