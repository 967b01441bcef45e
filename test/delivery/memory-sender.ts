import type { DestinationSight, EndpointSight, SenderStore } from '../../src/delivery/sender-store.ts';

type Report = Parameters<SenderStore['report']>[0][number];

/** What the sender needs from a database, in memory: shared by the processes of a test. */
export class MemorySender implements SenderStore {
  readonly reports: Report[] = [];
  readonly keys = { current: 'sig_current', next: 'sig_next' };
  readonly queues = new Map<string, { parallelism: number; isPaused: boolean }>();
  readonly flows = new Map<string, { parallelism?: number; rate?: number; periodMs?: number; isPaused: boolean }>();
  readonly endpoints = new Map<string, EndpointSight | 'disabled'>();
  readonly noted: [string, string][] = [];
  readonly changes: Parameters<SenderStore['changeDestination']>[0][] = [];
  /** What the next calls of `report` come to. */
  readonly reportFaults: Error[] = [];
  /** Answers of `takeRate`; none: go on. */
  readonly rates: number[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  readonly #breakers = new Map<string, { sight: DestinationSight; dueMs: number }>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  async open(): Promise<void> {}
  async close(): Promise<void> {}

  queue(name: string): { parallelism: number; isPaused: boolean } {
    return this.queues.get(name) ?? { parallelism: 1, isPaused: false };
  }

  flow(key: string): { parallelism?: number; rate?: number; periodMs?: number; isPaused: boolean } {
    return this.flows.get(key) ?? { isPaused: false };
  }

  async takeRate(): Promise<{ waitMs: number | undefined }> {
    return { waitMs: this.rates.shift() };
  }

  onChange(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(line: string): void {
    for (const listener of this.#listeners) listener(line);
  }

  async report(reports: readonly Report[]): Promise<void> {
    const fault = this.reportFaults.shift();
    if (fault) throw fault;
    this.reports.push(...reports);
  }

  async destinations(): Promise<readonly DestinationSight[]> {
    return Array.from(this.#breakers.values(), ({ sight, dueMs }) => this.#now(sight, dueMs));
  }

  async changeDestination(
    change: Parameters<SenderStore['changeDestination']>[0],
  ): Promise<DestinationSight & { isChanged: boolean }> {
    const { destination, epoch, to, probeInMs } = change;
    this.changes.push(change);
    const known = this.#breakers.get(destination);
    const before = known?.sight ?? { destination, state: 'closed', isHeld: false, epoch: 0, probes: 0 };
    const dueMs = known?.dueMs ?? 0;
    if (before.epoch !== epoch || before.isHeld) return { ...this.#now(before, dueMs), isChanged: false };
    const probes = to === 'closed' ? 0 : before.probes + (before.state === 'probing' && to === 'open' ? 1 : 0);
    const sight = { destination, state: to, isHeld: false, epoch: epoch + 1, probes };
    this.#breakers.set(destination, { sight, dueMs: this.#nowMs() + (probeInMs ?? 60_000) });
    return { ...this.#now(sight, this.#nowMs() + (probeInMs ?? 60_000)), isChanged: true };
  }

  hold(destination: string): void {
    const epoch = (this.#breakers.get(destination)?.sight.epoch ?? 0) + 1;
    const sight = { destination, state: 'open', isHeld: true, epoch, probes: 0 } as const;
    this.#breakers.set(destination, { sight, dueMs: Infinity });
  }

  release(destination: string): void {
    const epoch = (this.#breakers.get(destination)?.sight.epoch ?? 0) + 1;
    const sight = { destination, state: 'closed', isHeld: false, epoch, probes: 0 } as const;
    this.#breakers.set(destination, { sight, dueMs: 0 });
  }

  async endpoint(endpointId: string): Promise<EndpointSight | 'disabled' | undefined> {
    return this.endpoints.get(endpointId);
  }

  async noteEndpoint(endpointId: string, answer: 'well' | 'failed' | 'gone'): Promise<void> {
    this.noted.push([endpointId, answer]);
  }

  async signingKeys(): Promise<{ current: string; next: string }> {
    return this.keys;
  }

  #now(sight: DestinationSight, dueMs: number): DestinationSight {
    if (sight.state === 'closed' || sight.isHeld) return sight;
    const leftMs = dueMs - this.#nowMs();
    // A try that was lost: another may try.
    if (sight.state === 'probing' && leftMs <= 0) return { ...sight, state: 'open', probeInMs: 0 };
    return { ...sight, probeInMs: Math.max(0, leftMs) };
  }
}
