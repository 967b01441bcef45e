import type { LedgerReport } from './ledger.ts';

export function ledgerPage(report: LedgerReport): string {
  return JSON.stringify(report);
}
