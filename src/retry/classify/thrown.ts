/** What every reader asks of a thrown value, looked up once. */
export interface Thrown {
  readonly error: unknown;
  /** The error's own name; where a library left it at "Error", the name of its class; '' when there is none. */
  readonly name: string;
  /** A code that is text, '' when there is none. */
  readonly textCode: string;
  /** A code that is a whole number. */
  readonly numberCode: number | undefined;
}

export function lookAt(error: unknown): Thrown {
  const code = field(error, 'code');
  const isText = typeof code === 'string';
  return {
    error,
    name: nameOf(error),
    textCode: isText ? code : '',
    numberCode: !isText && Number.isInteger(code) ? (code as number) : undefined,
  };
}

/**
 * The field of a foreign object, or `undefined` when there is none or reading it throws: a getter must not replace the
 * failure that is being looked at.
 */
export function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** The text in a field, '' when something else stands there. */
export function textField(value: unknown, name: string): string {
  const found = field(value, name);
  return typeof found === 'string' ? found : '';
}

/** The whole number in a field, or `undefined` when something else stands there. */
export function wholeField(value: unknown, name: string): number | undefined {
  const found = field(value, name);
  return Number.isInteger(found) ? (found as number) : undefined;
}

function nameOf(error: unknown): string {
  const name = textField(error, 'name');
  if (name !== '' && name !== 'Error') return name;
  const made = field(error, 'constructor');
  return typeof made === 'function' && made !== Error ? made.name : name;
}
