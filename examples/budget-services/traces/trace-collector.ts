import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Span, spansOf } from './span.ts';
import { traceText } from './trace-text.ts';

/** Takes spans and shows them. */
export interface TraceCollector {
  readonly url: string;
  /** All that came and is still kept, by trace. */
  readonly traces: ReadonlyMap<string, readonly Span[]>;
  close(): void;
}

// Somebody looks at the newest; without a bound a load test would fill the memory.
const MAX_TRACES = 500;
const SHOWN = 5;

/** A small collector of OTLP over HTTP, in JSON: `POST /v1/traces`. `GET /traces` shows the newest ones as text. */
export async function startTraceCollector(port: number): Promise<TraceCollector> {
  const traces = new Map<string, Span[]>();
  const server = createServer((request, response) => void answer(traces, request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traces,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(traces: Map<string, Span[]>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '/' } = request;
  if (method === 'POST' && url === '/v1/traces') {
    try {
      for (const span of spansOf(JSON.parse(await textOf(request)))) keep(traces, span);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } catch {
      response.writeHead(400).end();
    }
    return;
  }
  const [, wanted] = /^\/traces(?:\/([0-9a-f]{32}))?$/.exec(url) ?? [];
  if (method !== 'GET' || !url.startsWith('/traces')) return void response.writeHead(404).end('see /traces\n');
  const shown = wanted === undefined ? [...traces.values()].slice(-SHOWN) : [traces.get(wanted) ?? []];
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(shown.map(traceText).join('\n'));
}

function keep(traces: Map<string, Span[]>, span: Span): void {
  const [oldest] = traces.keys();
  if (traces.size >= MAX_TRACES && !traces.has(span.traceId) && oldest !== undefined) traces.delete(oldest);
  const spans = traces.get(span.traceId) ?? [];
  spans.push(span);
  traces.set(span.traceId, spans);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
