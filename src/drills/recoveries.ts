import type { FaultMark } from './ledger.ts';

/** How long it took until work went on after each fault of a kind, the shortest first. */
export function recoveriesOf(marks: readonly FaultMark[], fault: string): readonly number[] {
  return marks
    .flatMap((mark) => (mark.fault === fault && mark.recoveredMs !== undefined ? [mark.recoveredMs] : []))
    .toSorted((a, b) => a - b);
}
