import { FAULTS, type Fault, type ProviderPlan } from './provider.ts';

/** Something a client sent, checked; or what it should have sent. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

const MAX_TEXT = 8_000;
const MAX_MESSAGE = 4_000;
const MAX_FAILURES = 99;
const MAX_SPEED = 100_000;

/** True for an id as our clients make them: up to 64 letters, digits, `-` and `_`. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value);
}

/** A question: which conversation, and what is asked. */
export function checkQuestion(value: unknown): Checked<{ readonly conversationId: string; readonly text: string }> {
  const { conversationId, text } = fieldsOf(value);
  if (!isId(conversationId)) {
    return problem('conversationId must be 1 to 64 letters, digits, "-" or "_", for example a UUID');
  }
  if (typeof text !== 'string' || text.trim() === '') return problem('text must be a string with something in it');
  if (text.length > MAX_TEXT) return problem(`text has ${text.length} characters; ${MAX_TEXT} is the most`);
  return { ok: true, value: { conversationId, text: text.trim() } };
}

/** A change of the provider's plan and of the speed of the waits; fields that are left out stay as they are. */
export function checkControls(
  value: unknown,
  plan: ProviderPlan,
  speed: number,
): Checked<{ readonly plan: ProviderPlan; readonly speed: number }> {
  const fields = fieldsOf(value);
  const next = { failures: plan.failures, fault: plan.fault, message: plan.message, speed, ...fields };
  if (!isWithin(next.failures, 0, MAX_FAILURES) || !Number.isInteger(next.failures)) {
    return problem(`failures must be a whole number from 0 to ${MAX_FAILURES}`);
  }
  if (!isFault(next.fault)) return problem(`fault must be one of ${FAULTS.join(', ')}`);
  if (typeof next.message !== 'string' || next.message.length > MAX_MESSAGE) {
    return problem(`message must be a string of at most ${MAX_MESSAGE} characters`);
  }
  if (!isWithin(next.speed, 1, MAX_SPEED)) return problem(`speed must be a number from 1 to ${MAX_SPEED}`);
  const { failures, fault, message } = next;
  return { ok: true, value: { plan: { failures, fault, message }, speed: next.speed } };
}

function fieldsOf(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null ? (value as { readonly [field: string]: unknown }) : {};
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max;
}

function isFault(value: unknown): value is Fault {
  return FAULTS.some((fault) => fault === value);
}

function problem(text: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: text };
}
