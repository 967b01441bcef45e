import type { Policy, PolicyOptions } from '../retry/policy.ts';

/** The longest an attempt may take under a policy, in milliseconds: its time for all attempts together, or `Infinity`. */
export function timeoutLimit(policy: Policy | PolicyOptions | undefined): number {
  const limit: unknown = policy?.maxElapsedMs;
  // Anything else is refused with the policy itself.
  return typeof limit === 'number' && limit >= 1 ? limit : Infinity;
}
