import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { onTestFinished } from 'vitest';
import { idempotency, type IdempotencyStore, memoryIdempotency } from '../../src/idempotency/index.ts';
import { type JobHandler, type JobOptions, qstash, signedJobs } from '../../src/webhooks/index.ts';
import { KEYS, qstashToken, type TokenOptions } from './sign.ts';

/** One delivery; what is left out is as QStash has it. */
export interface Sent {
  readonly id?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly retried?: number;
  readonly token?: TokenOptions | string;
}

/** A server with one job, and what it has done. */
export interface Receiver {
  readonly url: string;
  readonly effects: string[];
  readonly log: {
    readonly level: string;
    readonly fields: Readonly<Record<string, unknown>>;
    readonly message: string;
  }[];
  send(sent?: Sent): Promise<Response>;
}

/** Starts one that ends with the test. */
export async function receiver<Payload = unknown>(
  job: Partial<JobOptions<Payload>>,
  handler?: (effects: string[]) => JobHandler<Payload, never>,
  store: IdempotencyStore = memoryIdempotency(),
): Promise<Receiver> {
  const effects: string[] = [];
  const log: Receiver['log'] = [];
  const note = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    void log.push({ level, fields, message });
  const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const idem = idempotency({ service: 'jobs', store, storeTimeoutMs: 200 });
  const receive = signedJobs({ idempotency: idem, scheme: qstash(KEYS), logger });
  const handle = handler?.(effects) ?? ((payload: unknown) => void effects.push(JSON.stringify(payload)));
  const post = receive<Payload>({ name: 'send-reminder', ...job }, handle);
  const listener = getRequestListener((request) => post(request));
  const server = createServer((request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs`;
  return { url, effects, log, send: async (sent = {}) => fetch(url, requestOf(sent)) };
}

function requestOf({ id = randomUUID(), body = '{"id":7}', retried = 0, token = {} }: Sent): RequestInit {
  const signature = typeof token === 'string' ? token : qstashToken(body, token);
  const headers = {
    'upstash-signature': signature,
    'upstash-message-id': id,
    'upstash-retried': String(retried),
    'content-type': 'application/json',
  };
  return { method: 'POST', headers, body };
}
