import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('replay-process.ts', import.meta.url));

/** Processes of one service. One that is killed is replaced at once. */
export class Shop {
  readonly #url: string;
  readonly #mode: 'broken' | 'mended';
  readonly #children = new Map<string, ChildProcess>();
  readonly #starting: Promise<void>[] = [];
  #started = 0;

  constructor(url: string, mode: 'broken' | 'mended') {
    this.#url = url;
    this.#mode = mode;
  }

  /** The names of those that live. */
  get names(): readonly string[] {
    return [...this.#children.keys()];
  }

  async open(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#start()));
  }

  /** Until all that were started are ready. */
  async settled(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** Stops one where it stands, lets `look` see what it was doing, kills it, and starts another in its place. */
  async kill<T>(name: string, look: () => Promise<T>): Promise<T> {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`there is no process ${name}`);
    child.kill('SIGSTOP');
    const seen = await look();
    this.#children.delete(name);
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    this.#starting.push(this.#start());
    return seen;
  }

  async close(): Promise<void> {
    await this.settled();
    const all = [...this.#children.values()];
    this.#children.clear();
    await Promise.all(
      all.map(async (child) => {
        const gone = once(child, 'exit');
        child.disconnect();
        await gone;
      }),
    );
  }

  async #start(): Promise<void> {
    const name = `${this.#mode}-${(this.#started += 1)}`;
    const child = fork(SCRIPT, [this.#url, name, this.#mode], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    await once(child, 'message');
    this.#children.set(name, child);
  }
}
