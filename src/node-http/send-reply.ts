import { Buffer } from 'node:buffer';
import type { HttpReply } from '../idempotency/http/http-reply.ts';
import type { NodeResponse } from './node-response.ts';
import { headerValues } from './response-head.ts';

/** Sends a reply of ours beside the headers that are there already, such as those of CORS. */
export function sendReply(response: NodeResponse, { status, headers, body }: HttpReply): void {
  response.statusCode = status;
  for (const [name, value] of headerValues(headers)) response.setHeader(name, value);
  if (body === undefined) response.end();
  else response.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}
