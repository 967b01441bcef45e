import { field, textField } from './field.ts';

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

/** Looks up what the readers need to tell one client's errors from another's. */
export function lookAt(error: unknown): Thrown {
  const code = field(error, 'code');
  return {
    error,
    name: nameOf(error),
    textCode: typeof code === 'string' ? code : '',
    numberCode: Number.isInteger(code) ? (code as number) : undefined,
  };
}

function nameOf(error: unknown): string {
  const name = textField(error, 'name') ?? '';
  if (name !== '' && name !== 'Error') return name;
  const made = field(error, 'constructor');
  return typeof made === 'function' && made !== Error ? made.name : name;
}
