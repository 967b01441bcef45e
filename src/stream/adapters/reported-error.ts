import { field, textField } from '../../retry/classify/field.ts';
import { PROVIDER_CODES } from '../../retry/classify/provider-codes.ts';
import { type Rule, rules } from '../../retry/classify/rule.ts';
import { statusRule } from '../../retry/classify/status-rule.ts';
import type { ChunkMeaning } from '../chunk-meaning.ts';

/** Words that stand only in error events inside streams, not in error bodies. */
const EVENT_CODES: ReadonlyMap<string, Rule> = new Map([
  ...rules('overload', 'retry', ['service_unavailable', 'unavailable']),
  ...rules('rate-limit', 'retry', ['resource_exhausted']),
  ...rules('http', 'retry', ['internal']),
  ...rules('timeout', 'retry', ['deadline_exceeded', 'vector_store_timeout']),
]);

/**
 * What an error object sent inside a stream means. Those formats have no flag that says whether to try again, so it is
 * read from `type`, `code` and `status`: overload, rate limits and the provider's own faults are retryable. All else (a
 * bad request, a wrong key, an empty account, a word nobody knows) is not: an emitted error needs a clear yes.
 */
export function reportedError(error: unknown): ChunkMeaning {
  const words = ['type', 'code', 'status', 'status_code'].map((name) => field(error, name));
  const names = words.filter((word): word is string => typeof word === 'string' && word !== 'error' && !isStatus(word));
  const status = words.map(Number).find(isStatus);
  const ruled = names.map((name) => ({ name, rule: ruleOf(name) }));
  // A clear no wins: an empty account is reported as a rate limit with `insufficient_quota` beside it.
  const decisive = ruled.find(({ rule }) => rule?.verdict === 'fail') ?? ruled.find(({ rule }) => rule);
  const code = decisive?.name ?? names[0];
  const rule = decisive?.rule ?? (status === undefined ? undefined : statusRule(status));
  const serverFault = decisive === undefined && status !== undefined && status >= 500 && rule?.verdict !== 'fail';
  return {
    kind: 'error',
    retryable: rule?.verdict === 'retry' || serverFault,
    message:
      textField(error, 'message') ?? (typeof error === 'string' ? error : (JSON.stringify(error) ?? 'unknown error')),
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(rule && { failure: rule.kind }),
  };
}

function ruleOf(name: string): Rule | undefined {
  const word = name.toLowerCase();
  return PROVIDER_CODES.get(word) ?? EVENT_CODES.get(word);
}

function isStatus(word: unknown): boolean {
  const number = Number(word);
  return Number.isInteger(number) && number >= 400 && number <= 599;
}
