import { claimingCases } from './idempotency-contract/claiming-cases.ts';
import { endingCases } from './idempotency-contract/ending-cases.ts';
import { erasingCases } from './idempotency-contract/erasing-cases.ts';
import { holdingCases } from './idempotency-contract/holding-cases.ts';
import type { IdempotencyCase } from './idempotency-contract/idempotency-harness.ts';

/**
 * Every promise of an idempotency store, as cases for any test runner: give each a fresh, empty store. A store that keeps them all,
 * and passes `checkAgainstRules` with many seeds, can stand in for ours.
 */
export function idempotencyContract(): readonly IdempotencyCase[] {
  return [...claimingCases(), ...holdingCases(), ...endingCases(), ...erasingCases()];
}
