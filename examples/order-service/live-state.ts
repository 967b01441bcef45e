import type { ServerResponse } from 'node:http';

// Faster than anybody reads, slow enough that a burst of orders is a few looks at the database.
const NOT_OFTENER_MS = 120;
// For what another process changed, such as a replay from the command line.
const LOOK_EVERY_MS = 1_000;

/** Tells every page that is open what there is to see, as server-sent events. */
export class LiveState {
  readonly #read: () => Promise<object>;
  readonly #pages = new Set<ServerResponse>();
  readonly #interval: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #last = '';
  #isReading = false;
  #isStale = false;

  constructor(read: () => Promise<object>) {
    this.#read = read;
    this.#interval = setInterval(() => this.changed(), LOOK_EVERY_MS);
  }

  /** Something may look different now. */
  changed(): void {
    this.#isStale = true;
    if (this.#pages.size > 0) this.#timer ??= setTimeout(() => void this.#look(), NOT_OFTENER_MS);
  }

  /** Answers a request with the state, and again whenever it changes. */
  follow(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.write('retry: 1000\n\n');
    this.#pages.add(response);
    response.on('close', () => this.#pages.delete(response));
    if (this.#last !== '') response.write(this.#last);
    this.changed();
  }

  close(): void {
    clearInterval(this.#interval);
    clearTimeout(this.#timer);
    for (const page of this.#pages) page.end();
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (this.#isReading || !this.#isStale) return;
    this.#isReading = true;
    this.#isStale = false;
    try {
      const next = `data: ${JSON.stringify(await this.#read())}\n\n`;
      if (next !== this.#last) for (const page of this.#pages) page.write(next);
      this.#last = next;
    } catch (error) {
      // The database is away: the page keeps what it has, and the next look may succeed.
      for (const page of this.#pages) page.write(`event: trouble\ndata: ${JSON.stringify(String(error))}\n\n`);
    } finally {
      this.#isReading = false;
      if (this.#isStale) this.changed();
    }
  }
}
