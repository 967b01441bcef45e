import { PROMETHEUS_CONTENT_TYPE } from './prometheus-text.ts';

/** What a Node response is asked to do; Express's and Fastify's raw one fit as well. */
export interface MetricsReply {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** Numbers as Prometheus asks for them. The functions may be passed on by themselves. */
export interface MetricsPage {
  /** Everything in the Prometheus text format 0.0.4. May be joined with the text of other libraries. */
  readonly text: () => string;
  /** The text as a Fetch answer, for Hono, Next, Deno, Bun, …: `app.get('/metrics', () => metrics.response())`. */
  readonly response: () => Response;
  /** The text for Node's `http`, Express and the like: `app.get('/metrics', metrics.listener)`. */
  readonly listener: (request: unknown, reply: MetricsReply) => void;
}

/** The text in each form that servers take. */
export function metricsPage(text: () => string): MetricsPage {
  const headers = { 'content-type': PROMETHEUS_CONTENT_TYPE };
  return {
    text,
    response: () => new Response(text(), { headers }),
    listener(_request, reply) {
      reply.writeHead(200, headers);
      reply.end(text());
    },
  };
}
