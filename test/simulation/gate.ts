/** What stands between a worker and the world: open, closed for a while (the process is stopped), or closed for ever. */
export class Gate {
  #state: 'open' | 'closed' | 'dead' = 'open';
  #waiting: (() => void)[] = [];

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Now, when the gate opens, or never. */
  run(work: () => void): void {
    if (this.#state === 'open') work();
    else if (this.#state === 'closed') this.#waiting.push(work);
  }

  async pass(): Promise<void> {
    if (this.#state !== 'open') await new Promise<void>((resolve) => this.run(resolve));
  }

  close(): void {
    if (this.#state === 'open') this.#state = 'closed';
  }

  open(): void {
    if (this.#state !== 'closed') return;
    this.#state = 'open';
    for (const work of this.#waiting.splice(0)) this.run(work);
  }

  kill(): void {
    this.#state = 'dead';
    this.#waiting = [];
  }
}
