import { HoldfastError } from '../kernel/error.ts';
import type { SchemaIssue } from '../kernel/standard-schema.ts';
import { findUnstorable } from '../kernel/unstorable.ts';
import type { EventDefinition } from './event.ts';
import { ownName } from './stored-payload.ts';

/** Above this a message belongs in a blob store, with its address in the payload: it is read, kept and shown as a whole. */
export const MAX_PAYLOAD_BYTES = 1_048_576;

/**
 * The payload as the JSON text that is stored. Refused with `PAYLOAD_INVALID`: what does not fit the event's schema, and
 * what JSON would change in silence or the database cannot hold (NaN, bigint, a Map, NUL, half a surrogate pair, a cycle,
 * nothing at all). Above a megabyte: `PAYLOAD_TOO_LARGE`. The error names the place, never the value.
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
  // To the database it is the same as no payload.
  const problem = payload === null ? 'payload is null' : findUnstorable(payload, 'payload');
  if (problem !== undefined) invalid(problem);
  const own = ownName(payload);
  if (own !== undefined) invalid(`payload.${own} is a name of ours`);
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
