/**
 * The value at `path`, or `undefined` when any step is missing or throws. Errors are foreign objects: a getter of theirs
 * must not replace the failure that is being looked at.
 */
export function field(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  try {
    for (const name of path) {
      if (typeof at !== 'object' || at === null) return undefined;
      at = (at as Readonly<Record<string, unknown>>)[name];
    }
  } catch {
    return undefined;
  }
  return at;
}

/** The string at `path`, or `undefined` when something else stands there. */
export function textField(value: unknown, ...path: readonly string[]): string | undefined {
  const found = field(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** The whole number at `path`, or `undefined` when something else stands there. */
export function wholeField(value: unknown, ...path: readonly string[]): number | undefined {
  const found = field(value, ...path);
  return Number.isInteger(found) ? (found as number) : undefined;
}

/** The error's own name; where a library left it at "Error", the name of its class. */
export function nameOf(error: unknown): string | undefined {
  const name = textField(error, 'name');
  if (name !== undefined && name !== 'Error') return name;
  const made = field(error, 'constructor');
  return typeof made === 'function' ? made.name : undefined;
}
