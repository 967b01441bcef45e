import { HoldfastError } from '../kernel/error.ts';
import type { Operator } from '../operator/operator.ts';
import { describeReason, type WhyReason } from '../operator/why.ts';
import { REDACTED } from './redaction.ts';

/** Where keys stand in answers, audit details included. */
const KEYS: ReadonlySet<string> = new Set(['key', 'idempotencyKey', 'releasedKey', 'skippedKey']);
/** What senders wrote; hidden place by place elsewhere. */
const OWN: ReadonlySet<string> = new Set(['payload', 'headers']);
const KEY_VERBS: ReadonlySet<string> = new Set(['replayKey', 'discardKey', 'releaseKey', 'skipKey']);
/** The most one page may have. */
const WHOLE_PAGE = 1_000;

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * The operator as somebody sees it from whom keys are hidden: a key is made of a payload by code we do not know, so it may be, or hold,
 * what is hidden there. Keys are replaced in all answers; to search by one, and to act on one, is refused with `FIELD_REDACTED`.
 */
export function withoutKeys(operator: Operator): Operator {
  const calls = Object.entries(operator as unknown as Readonly<Record<string, Call>>).map(([name, call]) => {
    const hidden: Call = async (...args) => {
      refuseKeys(name, args);
      return withoutKey(name === 'heldKeys' ? await onePage(call, args) : await call(...args));
    };
    return [name, hidden];
  });
  return Object.fromEntries(calls) as Operator;
}

function refuseKeys(name: string, [first]: readonly unknown[]): void {
  const { key, filter } = (first ?? {}) as { readonly key?: unknown; readonly filter?: { readonly key?: unknown } };
  if (KEY_VERBS.has(name) || key !== undefined || filter?.key !== undefined) {
    throw new HoldfastError('FIELD_REDACTED', { field: 'key' });
  }
}

/** Where the next page begins is told by a key. */
async function onePage(call: Call, [filter]: readonly unknown[]): Promise<unknown> {
  const found = (await call({ ...(filter as object), limit: WHOLE_PAGE, cursor: undefined })) as object;
  return { ...found, next: undefined };
}

function withoutKey(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKey);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => {
    if (KEYS.has(name) && typeof one === 'string') return [name, REDACTED];
    return [name, OWN.has(name) ? one : withoutKey(one)];
  });
  const shown: Record<string, unknown> = Object.fromEntries(fields);
  const { sentence, reason } = shown;
  if (typeof sentence !== 'string' || typeof reason !== 'object') return shown;
  return { ...shown, sentence: describeReason(reason as WhyReason) };
}
