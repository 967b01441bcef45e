/** One parser, and all that must hold for whatever text it is given. */
export interface FuzzTarget {
  readonly name: string;
  /** Where to begin: what it takes, and nearly so. */
  readonly seeds: readonly string[];
  /** Words of its grammar. */
  readonly words: readonly string[];
  /** Reads the text. Throws where something does not hold that must. */
  check(text: string): unknown;
}

/** Something did not hold. */
export function wrong(what: string): never {
  throw new Error(what);
}

/** What the work gives; nothing when it refuses as it may. Any other error is a finding. */
export function unlessRefused<T>(work: () => T, isRefusal: (error: unknown) => boolean): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Fields from lines of `name: value`. */
export function linesOf(text: string): [name: string, value: string][] {
  return text.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

/** Its JSON; nothing when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Headers from the lines before the first empty one; nothing where no server would let them through. */
export function headersOf(text: string): Headers | undefined {
  const [head = ''] = text.split('\n\n', 1);
  try {
    return new Headers(linesOf(head));
  } catch {
    return undefined;
  }
}
