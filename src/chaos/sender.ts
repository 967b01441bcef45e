import { type DrillChild, startChild } from './child.ts';
import type { SenderNews, SenderOptions, SenderOrder } from './child-line.ts';

const NOTHING: SenderNews = {
  acknowledged: 0,
  reached: {},
  duplicates: 0,
  rolledBack: 0,
  repeated: 0,
  lagged: 0,
  lost: 0,
  problem: undefined,
};

/** The process that sends. */
export class Sender {
  /** How far each key is acknowledged. */
  readonly reached: Map<string, number> = new Map();
  readonly #child: DrillChild;
  #news: SenderNews = NOTHING;
  #problem: string | undefined;
  #isRemoved = false;

  constructor(options: SenderOptions, cwd: string) {
    this.#child = startChild(options.urls.length > 0 ? 'client-process' : 'sender-process', options, cwd);
    this.#child.process.on('message', (told) => {
      this.#news = told as SenderNews;
      this.#problem ??= this.#news.problem;
      for (const [key, n] of Object.entries(this.#news.reached)) this.reached.set(key, n);
    });
    void this.#child.ended.then(() => this.#noteEnd());
  }

  /** What it told last. Throws when something is wrong that no repeat mends. */
  get news(): SenderNews {
    if (this.#problem !== undefined) throw new Error(`the sender cannot go on: ${this.#problem}`);
    return this.#news;
  }

  #noteEnd(): void {
    if (!this.#isRemoved) this.#problem ??= this.#child.said() || 'it ended by itself';
  }

  order(order: SenderOrder): void {
    if (this.#child.process.connected) this.#child.process.send(order, () => undefined);
  }

  /** May be called twice. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#child.process.kill('SIGKILL');
    await this.#child.ended;
  }
}
