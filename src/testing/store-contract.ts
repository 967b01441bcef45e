import { breakerCases } from './contract/breaker-cases.ts';
import { commitCases } from './contract/commit-cases.ts';
import type { ContractCase } from './contract/contract-harness.ts';
import { leaseCases } from './contract/lease-cases.ts';
import { readingCases } from './contract/reading-cases.ts';
import { receivingCases } from './contract/receiving-cases.ts';
import { sendingCases } from './contract/sending-cases.ts';
import { settlingCases } from './contract/settling-cases.ts';

/**
 * Every promise a store makes to a relay, as cases for any test runner: give each a fresh, empty store. A store that keeps
 * them all can stand in for PostgreSQL.
 */
export function storeContract(): readonly ContractCase[] {
  return [
    ...sendingCases(),
    ...leaseCases(),
    ...breakerCases(),
    ...readingCases(),
    ...settlingCases(),
    ...commitCases(),
    ...receivingCases(),
  ];
}
