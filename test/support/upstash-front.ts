import { Redis } from 'ioredis';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that speaks Upstash's REST protocol for Redis in front of a real Redis. */
export interface UpstashFront extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

type Reply = { readonly result: unknown } | { readonly error: string };

/**
 * Starts one: `POST /` with a command, `POST /pipeline` with several, a bearer token, texts in base64 where the client asks for it. What
 * @upstash/redis sends for plain commands and scripts, and nothing more of the service.
 */
export async function startUpstashFront(redisUrl: string): Promise<UpstashFront> {
  const redis = new Redis(redisUrl);
  redis.on('error', () => {});
  const token = 'token-of-a-test';
  const server = createServer((request, response) => {
    respond(redis, token, request, response).catch((error: unknown) => send(response, 500, { error: String(error) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      redis.disconnect();
    },
  };
}

async function respond(redis: Redis, token: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.headers.authorization !== `Bearer ${token}`) {
    return send(response, 401, { error: 'WRONGPASS invalid or missing auth token' });
  }
  const body: unknown = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const asBase64 = request.headers['upstash-encoding'] === 'base64';
  const run = (command: unknown): Promise<Reply> => runCommand(redis, (command as unknown[]).map(String), asBase64);
  if (request.url === '/pipeline') return send(response, 200, await Promise.all((body as unknown[]).map(run)));
  const reply = await run(body);
  send(response, 'error' in reply ? 400 : 200, reply);
}

async function runCommand(redis: Redis, [name = '', ...rest]: readonly string[], asBase64: boolean): Promise<Reply> {
  try {
    return { result: encoded(await redis.callBuffer(name, ...rest), asBase64) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** A status such as OK stays as it is; every other text is bytes to the service. */
function encoded(value: unknown, asBase64: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => encoded(one, asBase64));
  if (!Buffer.isBuffer(value)) return value;
  const text = value.toString();
  return asBase64 && text !== 'OK' ? value.toString('base64') : text;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
