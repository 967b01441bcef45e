import { HoldfastError } from '../kernel/error.ts';
import type { SchemaIssue } from '../kernel/standard-schema.ts';
import type { EventDefinition } from './event.ts';

/** Above this a message belongs in a blob store, with its address in the payload: it is read, kept and shown as a whole. */
export const MAX_PAYLOAD_BYTES = 1_048_576;

/**
 * The payload as the JSON text that is stored. Refused with `PAYLOAD_INVALID`: what does not fit the event's schema, and
 * what JSON would change in silence or the database cannot hold (NaN, bigint, NUL, half a surrogate pair, a cycle, nothing
 * at all). Above a megabyte: `PAYLOAD_TOO_LARGE`. The error names the place, never the value.
 */
export async function serializePayload<Input, Output>(
  event: EventDefinition<Input, Output>,
  payload: Input,
): Promise<string> {
  const invalid = (problem: string): never => {
    throw new HoldfastError('PAYLOAD_INVALID', { type: event.type, problem });
  };
  if (event.schema) {
    const result = await event.schema['~standard'].validate(payload);
    const issue = result.issues?.[0];
    if (issue) invalid(describeIssue(issue));
  }
  const problem = findUnstorable(payload, 'payload', 0);
  if (problem !== undefined) invalid(problem);
  const text = JSON.stringify(payload);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_PAYLOAD_BYTES) {
    throw new HoldfastError('PAYLOAD_TOO_LARGE', { type: event.type, bytes, limitBytes: MAX_PAYLOAD_BYTES });
  }
  return text;
}

/** Where a schema found fault, and what it says; never the value. */
export function describeIssue(issue: SchemaIssue): string {
  const steps = issue.path?.map((step) => String(typeof step === 'object' ? step.key : step)) ?? [];
  return `${['payload', ...steps].join('.')}: ${issue.message}`;
}

// A cycle is found by depth: JSON that is nested deeper than this is a mistake as well.
const MAX_DEPTH = 100;

/** The first place that JSON or the database would not keep as it is, in words; nothing when all is well. */
function findUnstorable(value: unknown, place: string, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return findUnstorableText(value, place);
    case 'number':
      return Number.isFinite(value) ? undefined : `${place} is ${value}, which JSON turns into null`;
    case 'boolean':
      return undefined;
    case 'object':
      return value === null ? undefined : findInObject(value, place, depth);
    default:
      return `${place} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which JSON cannot hold`;
  }
}

function findUnstorableText(text: string, place: string): string | undefined {
  if (text.includes('\u0000')) return `${place} holds a NUL character, which the database cannot store`;
  return text.isWellFormed() ? undefined : `${place} holds half of a surrogate pair, which is no valid text`;
}

function findInObject(value: object, place: string, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `${place.slice(0, 60)}… is nested deeper than ${MAX_DEPTH}, or in a circle`;
  const shown: unknown = 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (typeof shown !== 'object' || shown === null) return findUnstorable(shown, place, depth + 1);
  for (const [name, item] of Object.entries(shown)) {
    // JSON leaves out a field that is undefined, as everybody expects; in a list it would become null.
    if (item === undefined && !Array.isArray(shown)) continue;
    const problem =
      findUnstorableText(name, `a name in ${place}`) ?? findUnstorable(item, `${place}.${name}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
