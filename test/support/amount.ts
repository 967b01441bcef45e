/**
 * How much of the same a test does: `inGate` in `npm test`, `full` in `npm test -- --full`. The kinds of trouble are the same in both,
 * and each test asks that every one of them was met.
 */
export function amount(inGate: number, full: number): number {
  return process.env['HOLDFAST_TEST_AMOUNT'] === 'full' ? full : inGate;
}
