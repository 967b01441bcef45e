import { inspect } from 'node:util';

/** A payload, or as much of it as matters: fields that are left out may be anything. Lists must fit as a whole. */
export type PartOf<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: PartOf<T[K]> }
    : T;

/** What a payload must be: a part of it, or a function that says yes. */
export type PayloadMatch<T> = PartOf<T> | ((payload: T) => boolean);

/** Where the value does not fit, in words; nothing when it fits. */
export function mismatch(found: unknown, wanted: unknown, path = 'payload'): string | undefined {
  if (typeof wanted === 'function') {
    return (wanted as (value: unknown) => boolean)(found) ? undefined : `${path} was refused by the function`;
  }
  if (!isRecord(wanted) && !Array.isArray(wanted)) {
    return Object.is(found, wanted) ? undefined : `${path} is ${inspect(found)} and not ${inspect(wanted)}`;
  }
  if (Array.isArray(wanted)) return listMismatch(found, wanted, path);
  if (!isRecord(found)) return `${path} is ${inspect(found)} and not an object`;
  for (const [field, value] of Object.entries(wanted)) {
    const problem = Object.hasOwn(found, field)
      ? mismatch(found[field], value, `${path}.${field}`)
      : value !== undefined && `${path}.${field} is not there`;
    if (typeof problem === 'string') return problem;
  }
  return undefined;
}

function listMismatch(found: unknown, wanted: readonly unknown[], path: string): string | undefined {
  if (!Array.isArray(found)) return `${path} is ${inspect(found)} and not a list`;
  if (found.length !== wanted.length) return `${path} has ${found.length} items and not ${wanted.length}`;
  for (const [at, value] of wanted.entries()) {
    const problem = mismatch(found[at], value, `${path}[${at}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value in one line, cut. */
export function inOneLine(value: unknown): string {
  const text = inspect(value, { breakLength: Infinity, compact: true, depth: 4 });
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
