import type { ServerResponse } from 'node:http';
import { serializeEventLine } from 'holdfast/stream';
import type { Turn } from './live-turn.ts';

// Shorter than the idle limits of common proxies, so that a wait of half an hour does not look like a dead connection.
const KEEP_ALIVE_MS = 15_000;
// A reader this far behind is gone; it can follow the turn anew.
const MAX_BEHIND_BYTES = 1_000_000;

/**
 * The HTTP-lines transport: a turn's events as one line of JSON each, until the turn is sealed. An empty line now and then
 * only keeps the connection alive. A client that hangs up leaves the turn as it is.
 */
export function sendTurnAsLines(response: ServerResponse, turn: Turn): void {
  response.writeHead(200, {
    'content-type': 'application/x-ndjson; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-turn-id': turn.id,
  });
  const keepAlive = setInterval(() => response.write('\n'), KEEP_ALIVE_MS);
  const leave = turn.follow((event) => {
    response.write(serializeEventLine(event));
    if (event.type === 'turn-end') response.end();
    else if (response.writableLength > MAX_BEHIND_BYTES) response.destroy();
  });
  response.on('close', () => {
    clearInterval(keepAlive);
    leave();
  });
}
