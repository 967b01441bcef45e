/** A JSON text a statement built: an object whose fields are named as in the record it becomes. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The record a statement built as JSON: null becomes undefined and the named fields become dates. Fields of nested records
 * are the caller's to read; payloads and errors stay as they are.
 */
export function readRecord<T>(fields: Fields, dates: readonly (keyof T & string)[]): T {
  const isDate = (name: string): boolean => (dates as readonly string[]).includes(name);
  const entries = Object.entries(fields).map(([name, value]) => {
    if (value === null) return [name, undefined];
    return [name, isDate(name) && typeof value === 'string' ? new Date(value) : value];
  });
  return Object.fromEntries(entries) as T;
}

/** What the JSON text of a row's column says. */
export function readJson(row: Record<string, unknown> | undefined, column: string): unknown {
  return JSON.parse(row?.[column] as string) as unknown;
}
