import { isHoldfastError } from '../kernel/error.ts';
import type { BodyProblem } from '../kernel/error-codes.ts';
import type { SchemaIssue, StandardSchema } from '../kernel/standard-schema.ts';

/** What a body is read as. */
export type ReadAs = 'json' | 'text' | 'nothing';

/** The value of a body, or what is wrong with it. The problem holds no part of the body but the names of fields. */
export type Parsed<T> = { readonly value: T } | Unfit;

interface Unfit {
  readonly reason: BodyProblem;
  readonly problem: string;
  readonly issues?: readonly SchemaIssue[];
  /** What the schema threw. */
  readonly cause?: unknown;
}

/** An answer as it came from the wire. */
export interface RawBody {
  readonly bytes: Uint8Array;
  readonly contentType: string | null;
}

/**
 * The body as JSON (or text), checked by the schema. An empty body is `undefined`, and the schema says whether that will
 * do. JSON is expected to be called JSON or nothing; an HTML page in its place is named as such. Of what a schema throws,
 * only our own errors about a model's answer are thrown on: any other, whatever its code, is a body that was not accepted.
 */
export async function parseAnswer<T>(
  raw: RawBody,
  read: ReadAs,
  schema: StandardSchema<T> | undefined,
): Promise<Parsed<T>> {
  const found = read === 'json' ? jsonOf(raw) : textOf(raw);
  if ('problem' in found) return found;
  // Without a schema the caller has said nothing about T, which is then unknown.
  if (!schema) return { value: found.value as T };
  try {
    const result = await schema['~standard'].validate(found.value);
    if (!result.issues) return { value: result.value };
    return { reason: 'refused', problem: describe(result.issues, found.value), issues: result.issues };
  } catch (error) {
    if (isHoldfastError(error, 'LLM_ERROR_IN_ANSWER') || isHoldfastError(error, 'LLM_CONTENT_REFUSED')) throw error;
    return { reason: 'schema-threw', problem: 'the schema threw an error', cause: error };
  }
}

function jsonOf(raw: RawBody): Parsed<unknown> {
  if (raw.bytes.byteLength === 0) return { value: undefined };
  const type = raw.contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== undefined && type !== '' && !/^[\w.+-]+\/(?:json|[\w.+-]+\+json)$/.test(type)) {
    const shown = /^[\w.+/-]{1,60}$/.test(type) ? type : 'not readable';
    return { reason: 'not-json', problem: `its content-type is ${shown}, not JSON` };
  }
  const text = textOf(raw);
  if ('problem' in text) return text;
  try {
    return { value: JSON.parse(text.value) as unknown };
  } catch {
    // The parser's own message quotes the body.
    return { reason: 'not-json', problem: `its ${raw.bytes.byteLength} bytes are not JSON` };
  }
}

function textOf(raw: RawBody): Parsed<string> {
  try {
    return { value: new TextDecoder('utf-8', { fatal: true }).decode(raw.bytes) };
  } catch {
    return { reason: 'not-text', problem: `its ${raw.bytes.byteLength} bytes are not UTF-8 text` };
  }
}

const SHOWN_PLACES = 3;

/** Where the schema found something wrong. Not what: validators quote values in their messages. */
function describe(issues: readonly SchemaIssue[], value: unknown): string {
  if (value === undefined) return 'it is empty';
  const places = [...new Set(issues.map(placeOf))];
  const more = places.length > SHOWN_PLACES ? ` and ${places.length - SHOWN_PLACES} more` : '';
  return `the schema refuses ${places.slice(0, SHOWN_PLACES).join(', ')}${more}`;
}

function placeOf(issue: SchemaIssue): string {
  const keys = (issue.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step).slice(0, 40));
  return keys.length === 0 ? 'the whole' : keys.join('.');
}
