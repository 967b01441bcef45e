import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What handlers answer with, if the reply is made bit by bit. */
export const STREAMS = [
  'node bytes',
  'node texts',
  'web bytes',
  'web texts',
  'a Response',
  'writes',
  'pipeline',
] as const;
export type StreamKind = (typeof STREAMS)[number];

/** A stream as the framework takes it; the last two are written to Node's response by hand. */
export type Streamed =
  | Readable
  | ReadableStream
  | Response
  | { readonly writes: AsyncIterable<string> }
  | { readonly pipeline: Readable };

async function* bytes(texts: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  for await (const text of texts) yield Buffer.from(text);
}

/** The same texts as a stream of that kind. */
export function streamOf(kind: StreamKind, texts: AsyncIterable<string>): Streamed {
  switch (kind) {
    case 'node bytes':
      return Readable.from(bytes(texts), { objectMode: false });
    case 'node texts':
      return Readable.from(texts);
    case 'web bytes':
      return Readable.toWeb(Readable.from(bytes(texts))) as ReadableStream;
    case 'web texts':
      return Readable.toWeb(Readable.from(texts)) as ReadableStream;
    case 'a Response':
      return new Response(Readable.toWeb(Readable.from(bytes(texts))) as BodyInit, {
        headers: { 'content-type': 'text/plain' },
      });
    case 'writes':
      return { writes: texts };
    case 'pipeline':
      return { pipeline: Readable.from(bytes(texts)) };
  }
}

/** Sends it as a handler does that has Node's response. */
export async function writeTo(response: ServerResponse, stream: Streamed): Promise<void> {
  if (stream instanceof Readable) return void stream.pipe(response);
  if ('pipeline' in stream) return pipeline(stream.pipeline, response);
  if (!('writes' in stream)) throw new TypeError('this framework does not send it');
  for await (const text of stream.writes) if (!response.write(text)) await once(response, 'drain');
  response.end();
}
