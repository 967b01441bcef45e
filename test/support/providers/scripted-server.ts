import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it came over the wire. */
interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Settles when the client has hung up or the answer is out: `true` when the client went first. */
  readonly hungUp: Promise<boolean>;
}

/** How a provider answers one request. */
export type Reply = (answer: Answer) => void | Promise<void>;

/** A provider on a real socket that answers its first request with the first reply, its second with the second, … */
export interface ScriptedServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Resolves when this many requests have come. */
  seen(count: number): Promise<void>;
  /** Cuts every open connection, as a crashed provider would. */
  cut(): void;
}

/** Writes one answer. */
class Answer {
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  json(status: number, body: object, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }

  /** Starts a stream of server-sent events, or goes on with it. Resolves when all of it has left this process. */
  async events(...frames: readonly string[]): Promise<void> {
    if (!this.response.headersSent) this.response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.response.flushHeaders();
    for (const frame of frames) await new Promise<void>((written) => this.response.write(frame, () => written()));
  }

  end(): void {
    this.response.end();
  }

  cut(): void {
    this.response.socket?.destroy();
  }
}

/** Replies that do not depend on the provider. */
export const reply = {
  status:
    (status: number, body: object, headers?: Record<string, string>): Reply =>
    (answer) =>
      answer.json(status, body, headers),
  /** Frames, then what becomes of the connection: a clean end, a cut, or silence. */
  stream:
    (frames: readonly string[], then: 'end' | 'cut' | 'hang' = 'end'): Reply =>
    async (answer) => {
      await answer.events(...frames);
      if (then === 'end') answer.end();
      if (then === 'cut') answer.cut();
    },
  /** Takes the request and never says a word. */
  silence: (): Reply => () => undefined,
  /** Hangs up before any header. */
  cut: (): Reply => (answer) => answer.cut(),
} as const;

/** Starts on a free port of the loopback interface. A request beyond the last reply is answered with 599 and recorded. */
export async function startScriptedServer(replies: readonly Reply[]): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((request, response) => {
    void take(request, response).then((seen) => {
      const script = replies[requests.push(seen) - 1] ?? reply.status(599, { error: { message: 'no reply is left' } });
      arrivals.emit('request');
      return script(new Answer(response));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async seen(count) {
      while (requests.length < count) await once(arrivals, 'request');
    },
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<SeenRequest> {
  const hungUp = once(response, 'close').then(() => !response.writableFinished);
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return { path: request.url ?? '', headers: request.headers, body: Buffer.concat(parts).toString('utf8'), hungUp };
}
