import { isEventPattern } from './event-types.ts';
import type { WebhookEndpointInput } from './webhook-endpoints.ts';
import { webhookSecretBytes } from './webhook-secret.ts';

/** When an event is tried again after a failure, in seconds, unless an endpoint says otherwise: as Standard Webhooks recommends. */
export const DEFAULT_RETRY_SECONDS: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** How long the secret before signs too, in hours. */
export const DEFAULT_GRACE_HOURS = 24;
export const MAX_GRACE_HOURS = 168;

const MAX_RETRIES = 50;
const MAX_WAIT_S = 86_400;
const MAX_TIMEOUT_MS = 900_000;
const MAX_RATE = 100_000;
const MAX_PATTERNS = 200;
const MAX_HEADERS = 50;
const MAX_TEXT = 2_000;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
// What the server writes itself, or what would change where a request ends.
const OURS =
  /^(?:webhook-.*|host|content-length|content-type|content-encoding|transfer-encoding|connection|expect|upgrade|te|trailer|keep-alive|proxy-.*)$/i;

/** Why this is no endpoint, for people and with the next step; nothing: it is one. */
export function endpointProblem(input: WebhookEndpointInput): string | undefined {
  const { url, description = '', secret, timeoutMs, ratePerSecond } = input;
  return (
    urlProblem(url) ??
    (description.length > MAX_TEXT ? `the description is longer than ${MAX_TEXT} characters: shorten it` : undefined) ??
    typesProblem(input.eventTypes ?? []) ??
    headersProblem(Object.entries(input.headers ?? {})) ??
    retriesProblem(input.retrySeconds ?? []) ??
    numberProblem('timeoutMs', timeoutMs, 1, MAX_TIMEOUT_MS) ??
    numberProblem('ratePerSecond', ratePerSecond, 1, MAX_RATE) ??
    (secret === undefined ? undefined : secretProblem(secret))
  );
}

/** Why this cannot be a secret. */
export function secretProblem(secret: string): string | undefined {
  if (webhookSecretBytes(secret) !== undefined) return undefined;
  return 'the secret is not whsec_ and 24 to 64 bytes in base64: leave it out for a new one';
}

function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'the address is not absolute: write https://host/path';
  const { protocol, username, password, hash } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return 'the address has another scheme: write https:// or http://';
  if (username !== '' || password !== '') return 'the address holds a user or password: send a header instead';
  if (hash !== '') return 'the address holds a fragment, which is never sent: leave it out';
  return url.length > MAX_TEXT ? `the address is longer than ${MAX_TEXT} characters: shorten it` : undefined;
}

function typesProblem(types: readonly string[]): string | undefined {
  if (types.length > MAX_PATTERNS)
    return `there are more than ${MAX_PATTERNS} event types: write order.* for all below order`;
  const wrong = types.find((type) => !isEventPattern(type));
  if (wrong === undefined) return undefined;
  return `the event type ${JSON.stringify(wrong.slice(0, 60))} cannot be read: write order.paid, order.* for all below, or none for all`;
}

function headersProblem(headers: readonly (readonly [name: string, value: string])[]): string | undefined {
  if (headers.length > MAX_HEADERS) return `there are more than ${MAX_HEADERS} headers: send less along`;
  for (const [name, value] of headers) {
    if (!NAME.test(name))
      return `the header ${JSON.stringify(name.slice(0, 60))} is no name of a header: write x-tenant`;
    if (OURS.test(name)) return `the header ${name} is written by the server: leave it out`;
    if (typeof value !== 'string' || value.length > MAX_TEXT || !/^[\t\x20-\x7e]*$/.test(value)) {
      return `the value of the header ${name} cannot be sent: write ASCII of at most ${MAX_TEXT} characters on one line`;
    }
  }
  return undefined;
}

function retriesProblem(seconds: readonly number[]): string | undefined {
  if (seconds.length > MAX_RETRIES) return `there are more than ${MAX_RETRIES} retries: write fewer`;
  const isGood = seconds.every((wait) => Number.isFinite(wait) && wait >= 0 && wait <= MAX_WAIT_S);
  return isGood ? undefined : `the waits between retries are seconds from 0 to ${MAX_WAIT_S}: write 5,300,1800`;
}

function numberProblem(name: string, value: number | undefined, min: number, max: number): string | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return undefined;
  return `${name} is not within ${min} and ${max}: write a whole number of these`;
}
