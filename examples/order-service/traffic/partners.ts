import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The same at each start where it is free, so that what was sent before still leads somewhere. */
const USUAL_PORT = 47_900;
/** Nobody listens there on any machine: the discard port. */
export const AWAY = 'http://127.0.0.1:9';
/** Of the flaky one, every so many requests fail. */
const FLAKY_EVERY = 3;

/** Systems of others that the shop tells of things, all on one port of this machine. */
export class Partners {
  readonly #server: Server;
  #asked = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume();
      request.on('end', () => this.#answer(request.url ?? '', response));
    });
  }

  /** Where they are, without a slash at the end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when they answer. */
  async start(): Promise<void> {
    await this.#listen(USUAL_PORT).catch(() => this.#listen(0));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
  }

  #answer(path: string, response: ServerResponse): void {
    this.#asked += 1;
    const [status, told] = this.#answerOf(path);
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(status === 503 && { 'retry-after': '2' }),
    });
    response.end(JSON.stringify({ path, ...told }));
  }

  #answerOf(path: string): readonly [status: number, told: object] {
    if (path.startsWith('/returns')) return [400, { error: 'there is no such order' }];
    if (path.startsWith('/old-shop')) return [410, { error: 'we have moved, and tell nobody where' }];
    if (path.startsWith('/crm') && this.#asked % FLAKY_EVERY === 0) return [503, { error: 'too many at once' }];
    return [200, { accepted: true }];
  }
}
