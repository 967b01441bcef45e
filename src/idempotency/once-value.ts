import { HoldfastError } from '../kernel/error.ts';
import { hideSecrets } from '../kernel/hide-secrets.ts';
import { findUnstorable } from '../kernel/unstorable.ts';
import type { KeptReply } from './idempotency-store.ts';

const MOST_BYTES = 1_048_576;
const MOST_MESSAGE = 1_000;

/** What is kept of a run of `once`: its value as JSON (absent: it gave nothing), what it threw, or that its value could not be kept. */
interface KeptOutcome {
  readonly value?: unknown;
  readonly error?: string;
  readonly notKept?: true;
}

/** A value as it is kept, and as everybody gets it. Throws `IDEMPOTENCY_VALUE_INVALID`, naming the place and never the value. */
export function keepValue<T>(domain: string, value: T): { readonly kept: KeptReply; readonly value: T } {
  const refuse = (problem: string): never => {
    throw new HoldfastError('IDEMPOTENCY_VALUE_INVALID', { domain, problem });
  };
  if (value === undefined) return { kept: keep({}), value };
  const problem = findUnstorable(value, 'the value');
  if (problem !== undefined) refuse(problem);
  const kept = keep({ value });
  const bytes = new TextEncoder().encode(kept.head).length;
  if (bytes > MOST_BYTES) refuse(`it has ${bytes} bytes and ${MOST_BYTES} is the most`);
  return { kept, value: (JSON.parse(kept.head) as { readonly value: T }).value };
}

/** Says that it was done, and nothing else. */
export const VALUE_NOT_KEPT: KeptReply = keep({ notKept: true });

/** A thrown value as it is kept: what it is called and says, at most 1,000 characters, secrets hidden. */
export function keepError(thrown: unknown): KeptReply {
  return keep({ error: hideSecrets(described(thrown)).slice(0, MOST_MESSAGE).toWellFormed().replaceAll('\0', '') });
}

/** The value that was kept. Throws `IDEMPOTENCY_FAILED` when an error was, `IDEMPOTENCY_NOT_KEPT` when nothing was. */
export function keptValue(domain: string, reply: KeptReply | null): unknown {
  if (reply === null) throw new HoldfastError('IDEMPOTENCY_NOT_KEPT', { domain });
  const { value, error, notKept } = JSON.parse(reply.head) as KeptOutcome;
  if (notKept) throw new HoldfastError('IDEMPOTENCY_NOT_KEPT', { domain });
  if (error !== undefined) throw new HoldfastError('IDEMPOTENCY_FAILED', { domain, message: error });
  return value;
}

function keep(outcome: KeptOutcome): KeptReply {
  return { head: JSON.stringify(outcome), body: undefined };
}

function described(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return 'what was thrown could not be read';
  }
}
