import type { Settlement } from '../relay/relay-store.ts';
import type { MemoryRow } from './memory-row.ts';
import type { MemoryTables } from './memory-tables.ts';

/** Whether what is to be parked stands behind a dead letter that blocks its key, still. */
export function mayBeSetAside({ lines }: MemoryTables, settlement: Settlement): boolean {
  if (settlement.kind !== 'dead' || settlement.behind === undefined) return true;
  const row = lines.find(settlement.token.unit, settlement.behind);
  return row?.state === 'failed' && row.holds;
}

/** Writes how a run ended into its row. */
export function applySettlement(tables: MemoryTables, row: MemoryRow, settlement: Settlement): void {
  if (settlement.kind === 'done') {
    row.attempts = settlement.attempts;
    tables.finish(row, 'delivered', settlement.durationMs);
    return;
  }
  if (settlement.kind === 'ready') {
    row.state = 'ready';
    row.dueAtMs = undefined;
    row.holds = false;
    row.tx = tables.ids.pass();
    return;
  }
  const nowMs = tables.nowMs();
  row.error = settlement.error;
  if (settlement.kind === 'postpone') {
    row.state = 'waiting';
    row.dueAtMs = nowMs + settlement.delayMs;
    row.holds = settlement.holds && row.message.key !== undefined;
    row.faults = settlement.faults ?? row.faults;
    return;
  }
  row.attempts = settlement.attempts;
  row.starts = 0;
  row.faults = settlement.kind === 'retry' ? settlement.faults : undefined;
  row.firstFailedAtMs ??= nowMs;
  if (settlement.kind === 'retry') {
    row.state = 'waiting';
    row.dueAtMs = nowMs + settlement.delayMs;
    row.retry = settlement.retry;
    row.holds = settlement.holds && row.message.key !== undefined;
  } else {
    row.state = 'failed';
    row.failedAtMs = nowMs;
    row.dueAtMs = undefined;
    row.holds = settlement.holds && row.message.key !== undefined;
  }
}
