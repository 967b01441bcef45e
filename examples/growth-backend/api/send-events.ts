import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DurableCommands } from 'holdfast/commands';
import type { PoolClient } from 'pg';

/** Answers with the events of a run as they happen, as server-sent events. `Last-Event-ID` goes on where a connection broke. */
export function sendEvents(
  commands: DurableCommands<PoolClient, PoolClient>,
  runId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController();
  request.raw.once('close', () => gone.abort());
  const after = request.headers['last-event-id'];
  const events = commands.events(runId, {
    signal: gone.signal,
    ...(after === undefined ? {} : { after: String(after) }),
  });
  const text = async function* (): AsyncGenerator<string> {
    for await (const event of events)
      yield `id: ${event.cursor}\nevent: ${event.to}\ndata: ${JSON.stringify(event)}\n\n`;
  };
  return reply
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(Readable.from(text()));
}
