import type { SchemaIssue, StandardSchema } from '../kernel/standard-schema.ts';

interface FieldTypes {
  string: string;
  number: number;
  boolean: boolean;
}

/** An object with at least these fields. What else the service sends is kept. */
export type Shaped<F extends Readonly<Record<string, keyof FieldTypes>>> = {
  readonly [K in keyof F]: FieldTypes[F[K]];
} & {
  readonly [field: string]: unknown;
};

/** A schema for the few fields we rely on in an answer; the rest of it may change without breaking anybody. */
export function shape<const F extends Readonly<Record<string, keyof FieldTypes>>>(
  fields: F,
): StandardSchema<Shaped<F>> {
  return schemaOf((value) => {
    if (!isRecord(value)) return [{ message: 'not an object' }];
    return Object.entries(fields)
      .filter(([name, type]) => typeof value[name] !== type)
      .map(([name, type]) => ({ message: `not a ${type}`, path: [name] }));
  });
}

/** A schema out of a function that gives what is wrong; an empty list means that the value is a `T`. */
export function schemaOf<T>(problems: (value: unknown) => readonly SchemaIssue[]): StandardSchema<T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => {
        const issues = problems(value);
        return issues.length === 0 ? { value: value as T } : { issues };
      },
    },
  };
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
