import { HoldfastError } from './error.ts';

/** One wrong option: which, what was found, and what to write instead. */
export interface OptionProblem {
  readonly option: string;
  readonly found: string;
  readonly write: string;
}

// More than that nobody misspells: something else was passed, such as a pool in place of { pool }.
const MOST_MISSPELT = 5;

/**
 * Collects every wrong option of one call and refuses them together, so that a reader fixes all of them at once.
 * Values are shown shortened, and a string is shown by its length only: an option may hold a secret.
 */
export class OptionCheck {
  readonly #of: string;
  readonly #problems: OptionProblem[] = [];

  constructor(of: string) {
    this.#of = of;
  }

  /** Notes that `option` has the value `value` and that `write` would work. */
  refuse(option: string, value: unknown, write: string): void {
    this.add({ option, found: shown(value), write });
  }

  /** As `refuse`, for the name of something in the caller's code, which is no secret: what was written is shown. */
  refuseName(option: string, value: unknown, write: string): void {
    this.add({ option, found: typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : shown(value), write });
  }

  add(problem: OptionProblem): void {
    this.#problems.push(problem);
  }

  /** One of a few words. */
  word(option: string, value: unknown, words: readonly string[]): void {
    if (words.includes(value as string)) return;
    const quoted = words.map((word) => `'${word}'`);
    this.refuseName(option, value, `write ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`);
  }

  /** True for an object; anything else is refused, and its fields need not be looked at. */
  object(option: string, value: unknown, write: string): value is object {
    if (typeof value === 'object' && value !== null) return true;
    this.refuse(option, value, write);
    return false;
  }

  /** A finite number within the bounds; `Infinity` passes only where `max` is `Infinity` too. */
  number(
    option: string,
    value: unknown,
    bounds: { min: number; max?: number; integer?: boolean; write: string },
  ): void {
    const max = bounds.max ?? Number.MAX_SAFE_INTEGER;
    const fits =
      typeof value === 'number' &&
      value >= bounds.min &&
      value <= max &&
      (!bounds.integer || Number.isInteger(value) || value === Infinity);
    if (!fits) this.refuse(option, value, bounds.write);
  }

  /** Only the listed fields may be there; a misspelt one is answered with the nearest, a wholly different object in one line. */
  known(options: object, fields: readonly string[], prefix = ''): void {
    const others = Object.keys(options).filter((field) => !fields.includes(field));
    const known = `known are ${fields.join(', ')}`;
    if (others.length > MOST_MISSPELT) {
      const found = `an object with ${others.length} fields that are no options`;
      return this.add({ option: prefix.slice(0, -1) || 'options', found, write: known });
    }
    for (const field of others) {
      const near = nearest(field, fields);
      const write = near ? `did you mean ${prefix}${near}?` : known;
      this.add({ option: `${prefix}${field}`, found: 'not an option', write });
    }
  }

  /** Throws `INVALID_OPTIONS` with all problems, or does nothing. */
  done(): void {
    if (this.#problems.length > 0) {
      throw new HoldfastError('INVALID_OPTIONS', { of: this.#of, problems: this.#problems });
    }
  }
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value === ''
        ? 'an empty string'
        : `a string of ${value.length} ${value.length === 1 ? 'character' : 'characters'}`;
    case 'number':
    case 'boolean':
    case 'undefined':
    case 'bigint':
      return String(value);
    case 'function':
      return 'a function';
    default:
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object';
  }
}

/**
 * The known word within two edits of `word`, or one that it goes on from (`classifier`, `classify`) or is a part of (`attempts`,
 * `maxAttempts`), if there is one.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = 3;
  for (const candidate of known) {
    const [a, b] = [word.toLowerCase(), candidate.toLowerCase()];
    const isAkin = (b.length >= 5 && a.startsWith(b.slice(0, -1))) || (a.length >= 5 && b.includes(a));
    const distance = Math.min(editDistance(a, b), isAkin ? 2 : Infinity);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
