/** The part of JSON Schema 2020-12 that is used here, as OpenAPI 3.1 shows it. */
export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null' | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly enum?: readonly string[];
  readonly const?: string | boolean;
  readonly oneOf?: readonly JsonSchema[];
  readonly format?: 'date-time' | 'uuid';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** A shape of JSON. */
export interface AnySchema {
  readonly json: JsonSchema;
  /** It may be left out. */
  readonly isOptional: boolean;
}

/** A shape of JSON, and the type it has in our code: a `Date` where JSON has a time. */
export interface Schema<T> extends AnySchema {
  /** Only for the compiler: a schema of one type does not pass for another. */
  readonly of?: (value: T) => T;
}

/** The type that a schema stands for. */
export type TypeOf<S> = S extends Schema<infer T> ? T : never;

/** The fields of an object, by name. */
export type Fields = Readonly<Record<string, AnySchema>>;

function schema<T>(json: JsonSchema): Schema<T> {
  return { json, isOptional: false };
}

/** As JSON schemas say what a thing is for. */
export function described<T>(of: Schema<T>, description: string): Schema<T> {
  return { ...of, json: { ...of.json, description } };
}

/** Any text. */
export const text: Schema<string> = schema({ type: 'string' });
export const number: Schema<number> = schema({ type: 'number' });
export const integer: Schema<number> = schema({ type: 'integer' });
export const flag: Schema<boolean> = schema({ type: 'boolean' });
/** A time: ISO 8601 in JSON, a `Date` in our code. */
export const time: Schema<Date> = schema({ type: 'string', format: 'date-time' });
/** Whatever JSON can hold: a payload. Nothing inside is looked at. */
export const anything: Schema<unknown> = schema({});

/** Text of 1 to `maxLength` characters. */
export function words(maxLength: number): Schema<string> {
  return schema({ type: 'string', minLength: 1, maxLength });
}

/** A whole number within bounds. */
export function whole(minimum: number, maximum: number): Schema<number> {
  return schema({ type: 'integer', minimum, maximum });
}

/** One of a few words. */
export function oneOf<const W extends string>(...of: readonly W[]): Schema<W> {
  return schema({ type: 'string', enum: of });
}

/** Exactly this word; tells the shapes of a union apart. */
function just<const W extends string>(word: W): Schema<W> {
  return schema({ type: 'string', const: word });
}

export function list<T>(of: Schema<T>): Schema<readonly T[]> {
  return schema({ type: 'array', items: of.json });
}

/** By name. */
export function mapOf<T>(of: Schema<T>): Schema<Readonly<Record<string, T>>> {
  return schema({ type: 'object', additionalProperties: of.json });
}

/** It may be left out; `undefined` in our code. */
export function optional<T>(of: Schema<T>): Schema<T | undefined> {
  return { json: of.json, isOptional: true };
}

/** JSON has `null` there. */
export function nullable<T>(of: Schema<T>): Schema<T | null> {
  return schema({ oneOf: [of.json, { type: 'null' }] });
}

/** An object: every field of the type must be named, so that none is forgotten. */
export function object<T extends object>(fields: { readonly [K in keyof T]-?: Schema<T[K]> }): Schema<T> {
  return objectOf(fields as unknown as Fields);
}

/** An object of these fields. */
export function objectOf<T>(fields: Fields): Schema<T> {
  const all = Object.entries(fields);
  const required = all.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return schema({
    type: 'object',
    properties: Object.fromEntries(all.map(([name, { json }]) => [name, json])),
    ...(required.length === 0 ? {} : { required }),
  });
}

/** What the shapes of a union have besides `kind`. */
export type Kinds<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: {
    readonly [F in Exclude<keyof Extract<T, { readonly kind: K }>, 'kind'>]-?: Schema<
      Extract<T, { readonly kind: K }>[F]
    >;
  };
};

/** One of several shapes, told apart by `kind`: all kinds of the type must be named. */
export function kinds<T extends { readonly kind: string }>(of: Kinds<T>): Schema<T> {
  const shapes = Object.entries(of as unknown as Readonly<Record<string, Fields>>).map(
    ([kind, fields]) => objectOf({ kind: just(kind), ...fields }).json,
  );
  return schema({ oneOf: shapes });
}

/** The `kind` that a shape of a union is told by; absent: it is none. */
export function kindOf(shape: JsonSchema): string | undefined {
  const word = shape.properties?.['kind']?.const;
  return typeof word === 'string' ? word : undefined;
}

/** One of several shapes that are not told apart by `kind`. */
export function either<T>(...of: readonly Pick<AnySchema, 'json'>[]): Schema<T> {
  return schema({ oneOf: of.map(({ json }) => json) });
}
