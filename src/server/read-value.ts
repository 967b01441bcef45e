import type { OptionProblem } from '../kernel/check-options.ts';
import { kindOf, type AnySchema, type Fields, type JsonSchema } from './schema.ts';

/** What was read, or all that is wrong with it. */
export type ReadFields =
  | { readonly values: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly OptionProblem[] };

const MOST_PROBLEMS = 20;

/** Reads the fields of a body: everything that is there must fit, and times become dates. Answers only what was given. */
export function readFields(given: Readonly<Record<string, unknown>>, fields: Fields): ReadFields {
  const problems: OptionProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) {
      problems.push({
        option: name,
        found: 'not a field',
        write: `known are ${Object.keys(fields).join(', ') || 'none'}`,
      });
    }
  }
  for (const [name, schema] of Object.entries(fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) {
      if (!schema.isOptional) problems.push({ option: name, found: 'missing', write: `write ${wanted(schema.json)}` });
    } else values[name] = readValue(schema.json, value, name, problems);
  }
  return problems.length === 0 ? { values } : { problems: problems.slice(0, MOST_PROBLEMS) };
}

/** Reads the query of a URL in the same way: its texts are taken for what the field is. A field that is left empty is not given. */
export function readQuery(query: URLSearchParams, fields: Fields): ReadFields {
  // Names are whatever was sent: also those that every object has.
  const given = Object.create(null) as Record<string, unknown>;
  const doubled: OptionProblem[] = [];
  for (const name of new Set(query.keys())) {
    const [value = '', ...more] = query.getAll(name);
    if (more.length > 0) doubled.push({ option: name, found: 'there twice', write: 'write it once' });
    if (value !== '') given[name] = fromText(value, Object.hasOwn(fields, name) ? fields[name] : undefined);
  }
  return doubled.length > 0 ? { problems: doubled.slice(0, MOST_PROBLEMS) } : readFields(given, fields);
}

function fromText(value: string, schema: AnySchema | undefined): unknown {
  const type = schema?.json.type;
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return value;
}

function readValue(schema: JsonSchema, value: unknown, at: string, problems: OptionProblem[]): unknown {
  if (schema.oneOf) {
    if (!schema.oneOf.some((shape) => fits(shape, value))) refuse(schema, value, at, problems);
    return value;
  }
  if (!fits(schema, value)) {
    refuse(schema, value, at, problems);
    return value;
  }
  if (schema.format === 'date-time') return new Date(value as string);
  if (schema.items) {
    const { items } = schema;
    return (value as unknown[]).map((one, i) => readValue(items, one, `${at}[${i}]`, problems));
  }
  if (schema.properties) {
    const inner = schema.properties;
    const required = schema.required ?? [];
    const fields = Object.entries(inner).map(([name, json]): [string, AnySchema] => [
      name,
      { json, isOptional: !required.includes(name) },
    ]);
    const read = readFields(value as Record<string, unknown>, Object.fromEntries(fields));
    if ('values' in read) return read.values;
    problems.push(...read.problems.map(({ option, found, write }) => ({ option: `${at}.${option}`, found, write })));
  }
  return value;
}

// As `toISOString` writes it, with or without parts of a second; the zone must be there.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

function fits(schema: JsonSchema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && isGoodText(schema, value);
    case 'integer':
    case 'number':
      return (
        typeof value === 'number' &&
        Number.isFinite(value) &&
        (schema.type === 'number' || Number.isSafeInteger(value)) &&
        value >= (schema.minimum ?? -Infinity) &&
        value <= (schema.maximum ?? Infinity)
      );
    case 'boolean':
      return typeof value === 'boolean';
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value) && value.length <= (schema.maxItems ?? MOST_ITEMS);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return true;
  }
}

const MOST_ITEMS = 1_000;
// The operator's own limits are tighter; this keeps a text from being looked at for long.
const LONGEST_TEXT = 10_000;

function isGoodText(
  { format, enum: few, minLength = 0, maxLength = LONGEST_TEXT }: JsonSchema,
  value: string,
): boolean {
  if (value.length < minLength || value.length > maxLength) return false;
  if (value.includes('\u0000') || !value.isWellFormed()) return false;
  if (format === 'date-time') return TIME.test(value) && Number.isFinite(Date.parse(value));
  return few === undefined || few.includes(value);
}

function refuse(schema: JsonSchema, value: unknown, at: string, problems: OptionProblem[]): void {
  problems.push({ option: at, found: shown(value), write: `write ${wanted(schema)}` });
}

/** By its length only: it may be a secret. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `a text of ${value.length} characters`;
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? `a list of ${value.length}` : 'an object';
}

function wanted(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(', ');
  if (schema.format === 'date-time') return 'a time such as 2030-01-31T12:00:00Z';
  if (schema.type === 'integer' || schema.type === 'number') {
    const { minimum, maximum } = schema;
    const bounds = minimum === undefined ? '' : ` from ${minimum} to ${maximum ?? 'any'}`;
    return `${schema.type === 'integer' ? 'a whole number' : 'a number'}${bounds}`;
  }
  if (schema.type === 'string')
    return `text of ${schema.minLength ?? 0} to ${schema.maxLength ?? LONGEST_TEXT} characters`;
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'array') return `a list of at most ${schema.maxItems ?? MOST_ITEMS}`;
  return schema.oneOf ? 'text, a number, true, false or null' : 'an object';
}

/**
 * What a value of ours was before it became JSON: times are dates again exactly where the schema says so, never inside a payload,
 * and fields that were left out are there as `undefined`.
 */
export function revive(schema: JsonSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (schema.oneOf) {
    const { kind } = value as { readonly kind?: unknown };
    const shape = schema.oneOf.find((one) => kindOf(one) === kind && kind !== undefined) ?? schema.oneOf[0];
    return shape === undefined ? value : revive(shape, value);
  }
  if (schema.format === 'date-time') return typeof value === 'string' ? new Date(value) : value;
  if (schema.items && Array.isArray(value)) {
    const { items } = schema;
    return value.map((one) => revive(items, one));
  }
  // A document that was stored as it is: what it does not have is not there.
  if (schema.additionalProperties === true) return value;
  if (schema.properties && typeof value === 'object') {
    const given = value as Readonly<Record<string, unknown>>;
    const read = Object.entries(schema.properties).map(([name, json]) => [name, revive(json, given[name])]);
    const known = Object.fromEntries(read) as Readonly<Record<string, unknown>>;
    // In the order of the schema, and with fields that a newer server has.
    return { ...known, ...given, ...known };
  }
  return value;
}
