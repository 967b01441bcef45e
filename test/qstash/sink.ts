import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Receiver } from '@upstash/qstash';

/** One request that came, as a destination sees it. */
export interface Arrival {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly body: string;
  readonly atMs: number;
  /** What the vendor's own `Receiver` says of the signature: true, or its error. */
  readonly verified: true | string;
}

/** What the sink answers. */
export interface SinkAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

type Answering = (arrival: Arrival, count: number) => SinkAnswer | Promise<SinkAnswer>;

/** A destination on this machine that notes what arrives. It answers 200 where it was not told otherwise. */
export class Sink {
  readonly arrivals: Arrival[] = [];
  readonly #answers = new Map<string, Answering>();
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then(({ status = 200, headers = {}, body = '' }) =>
      response.writeHead(status, headers).end(body),
    );
  });
  #receiver = new Receiver();
  url = '';

  async listen(keys: { readonly current: string; readonly next: string }): Promise<void> {
    this.expectKeys(keys);
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  expectKeys({ current, next }: { readonly current: string; readonly next: string }): void {
    this.#receiver = new Receiver({ currentSigningKey: current, nextSigningKey: next });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** From now on that is answered below a path. `count` is 1 for the first that came there. */
  on(path: string, answer: Answering): string {
    this.#answers.set(path, answer);
    return `${this.url}${path}`;
  }

  at(path: string): readonly Arrival[] {
    return this.arrivals.filter((one) => one.path === path);
  }

  async #answer(request: IncomingMessage): Promise<SinkAnswer> {
    const { url: target = '/', method = '', headers } = request;
    const atMs = Date.now();
    const bytes = Buffer.concat((await request.toArray()) as Buffer[]);
    const body = bytes.toString();
    const path = target.split('?', 1)[0] ?? '';
    const signature = String(headers['upstash-signature']);
    const verified = await this.#receiver
      .verify({ signature, body, url: `${this.url}${target}` })
      .catch((error: unknown) => String(error));
    const arrival: Arrival = {
      path: target,
      method,
      headers,
      bytes,
      body,
      atMs,
      verified: verified === true || String(verified),
    };
    this.arrivals.push(arrival);
    const count = this.arrivals.filter((one) => one.path.split('?', 1)[0] === path).length;
    return (await this.#answers.get(path)?.(arrival, count)) ?? {};
  }
}
