/** What one schedule came to. */
export interface SimulationResult {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly refused: number;
  readonly takenOver: number;
  readonly timedOut: number;
  /** Messages that died of losing their connection. */
  readonly poisoned: number;
  readonly reruns: number;
  /** How often a breaker opened. */
  readonly opened: number;
  /** How often a worker that lived was taken for dead long before its lease ended. */
  readonly takenForDead: number;
  /** Deliveries that were found to wait for a generation without a worker. */
  readonly unserved: number;
}
