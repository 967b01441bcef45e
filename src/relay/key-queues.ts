import { type HolderState, KeyLine } from './key-line.ts';

/** The key queues of one shard in memory, and what blocks them. */
export class KeyQueues {
  readonly #queues = new Map<string, KeyLine>();
  readonly #dead = new Set<number>();
  #waiting = 0;

  /** How many keys wait until one of theirs is tried again. */
  get waitingCount(): number {
    return this.#waiting;
  }

  /** Some key is blocked by a dead letter. */
  get areSomeBlocked(): boolean {
    return this.#dead.size > 0;
  }

  find(key: string | undefined): KeyLine | undefined {
    return key === undefined ? undefined : this.#queues.get(key);
  }

  of(key: string): KeyLine {
    let queue = this.#queues.get(key);
    if (!queue) this.#queues.set(key, (queue = new KeyLine(key)));
    return queue;
  }

  drop(queue: KeyLine): void {
    this.#queues.delete(queue.key);
  }

  clear(): void {
    this.#queues.clear();
    this.#waiting = 0;
    this.#dead.clear();
  }

  hold(queue: KeyLine, seq: number, state: HolderState): void {
    if (state === 'dead') this.#dead.add(seq);
    else this.#dead.delete(seq);
    const wasWaiting = queue.isWaiting;
    queue.hold(seq, state);
    this.#waiting += Number(queue.isWaiting) - Number(wasWaiting);
  }

  free(queue: KeyLine, seq: number): void {
    if (!queue.isHeld) return;
    this.#dead.delete(seq);
    const wasWaiting = queue.isWaiting;
    queue.free(seq);
    this.#waiting += Number(queue.isWaiting) - Number(wasWaiting);
  }
}
