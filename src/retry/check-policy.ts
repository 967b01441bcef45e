import type { OptionCheck } from '../kernel/check-options.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { toPolicy } from './policy.ts';

/** Names everything that is wrong with a policy (or its options) given as `option`, together with what else is wrong. */
export function checkPolicy(check: OptionCheck, option: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    check.refuse(option, value, 'pass a policy such as llmProvider, or its fields: { maxAttempts: 5 }');
    return;
  }
  try {
    toPolicy(value);
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
    for (const problem of error.details.problems) check.add({ ...problem, option: `${option}.${problem.option}` });
  }
}
