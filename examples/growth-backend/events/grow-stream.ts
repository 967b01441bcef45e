import type { TransportRoute } from 'holdfast';
import { redisStreams } from 'holdfast/redis';
import type { Decode } from 'holdfast/transport';
import { Redis } from 'ioredis';
import { correlationOf } from '../correlation.ts';
import type { Settings } from '../settings.ts';
import { GROW_EVENT_NAMES, type GrowEvent } from './grow-event.ts';

/** All canonical events are in one stream; its dead letters are in `grow.events.dlq`. */
export const GROW_STREAM = 'grow.events';

/** Canonical events go through Redis Streams. Close the client last. */
export function growStream({ redisUrl, prefix }: Settings): { readonly route: TransportRoute; readonly client: Redis } {
  const client = new Redis(redisUrl, { lazyConnect: true });
  client.on('error', () => undefined);
  const transport = redisStreams({ client, prefix, stream: () => GROW_STREAM, decode });
  return { route: { events: ['grow.*'], transport }, client };
}

/**
 * What services write that know nothing of Holdfast: one field `event` with the event as JSON, and its `type` and `source` in it. Its
 * `dedupeKey` is its identity, so what comes twice is stored once, wherever in the stream it stands.
 */
const decode: Decode = ({ headers }) => {
  const { type, source, ...payload } = JSON.parse(headers['event'] ?? '') as GrowEvent & {
    readonly type: string;
    readonly source?: string;
  };
  // Nothing is lost: what nobody has heard of is a dead letter, and can be replayed once somebody has.
  if (!GROW_EVENT_NAMES.some((name) => name === type))
    throw new TypeError(`nobody knows the type ${JSON.stringify(type)}; known are ${GROW_EVENT_NAMES.join(', ')}`);
  return {
    type: `grow.${type}`,
    id: payload.dedupeKey,
    source,
    key: payload.userId,
    payload,
    headers: correlationOf(payload),
  };
};
