import { badRequest } from './refusal.ts';

/** The body as JSON. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    throw badRequest('the body cannot be read as JSON in UTF-8');
  }
}
