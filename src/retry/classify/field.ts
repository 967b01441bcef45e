/**
 * The value in a field of a foreign object, or in a field of that field; `undefined` when there is none or reading it
 * throws: a getter must not replace the failure that is being looked at.
 */
export function field(value: unknown, name: string, inner?: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    const found = (value as Readonly<Record<string, unknown>>)[name];
    return inner === undefined ? found : field(found, inner);
  } catch {
    return undefined;
  }
}

/** The text in a field, or `undefined` when something else stands there, or nothing. */
export function textField(value: unknown, name: string, inner?: string): string | undefined {
  const found = field(value, name, inner);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** The whole number in a field, or `undefined` when something else stands there. */
export function wholeField(value: unknown, name: string, inner?: string): number | undefined {
  const found = field(value, name, inner);
  return Number.isInteger(found) ? (found as number) : undefined;
}
