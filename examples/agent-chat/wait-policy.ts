import { llmProvider, type Policy, policy, steps } from 'holdfast';

/**
 * The waits of `llmProvider`, every one of them `speed` times shorter, and its 8 hours too. At 1 it is that policy; at
 * 3,600 its eight hours pass in eight seconds.
 */
export function policyAtSpeed(speed: number): Policy {
  const { spec } = llmProvider.schedule;
  if (speed === 1 || spec.kind !== 'steps') return llmProvider;
  return policy({
    schedule: steps(
      spec.stepsMs.map((ms) => ms / speed),
      spec.tailMs === undefined ? {} : { tailMs: spec.tailMs / speed },
    ),
    maxWaitMs: llmProvider.maxWaitMs / speed,
    timeoutMs: Infinity,
    clock: llmProvider.clock,
  });
}
