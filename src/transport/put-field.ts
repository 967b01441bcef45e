/**
 * Sets a field whose name somebody else chose. An assignment to `__proto__` would set nothing, and a header of that name would be lost
 * without a word.
 */
export function putField(fields: Record<string, string>, name: string, value: string): void {
  if (name === '__proto__')
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
  else fields[name] = value;
}
