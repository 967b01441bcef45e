import { hideUrlSecrets } from '../kernel/hide-url-secrets.ts';
import { HIDDEN, isSecretName } from '../kernel/secret-name.ts';

/** `headers`, and what they are called where there are several kinds: `responseHeaders`, `sourceHeader`. */
const HEADERS = /headers?$/i;

/** True for a field that holds headers, by its name. */
export function holdsHeaders(name: string): boolean {
  return HEADERS.test(name);
}

/**
 * A payload without the secrets that are known by their place: headers whose names speak of one, at any depth, and users, passwords and
 * tokens in URLs. `REDACTED` stays where a rule has put it.
 */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return hideUrlSecrets(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isPlain(value)) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [
    name,
    holdsHeaders(name) ? secretHeaders(one) : withoutSecrets(one),
  ]);
  return Object.fromEntries(fields);
}

/** Headers, by name or as a list of objects or pairs, without the values of those whose names speak of a secret. */
export function secretHeaders(headers: unknown): unknown {
  if (Array.isArray(headers))
    return headers.map((one: unknown) => (isPair(one) ? hiddenPair(one) : secretHeaders(one)));
  if (!isPlain(headers)) return withoutSecrets(headers);
  const { name, key } = headers as { readonly name?: unknown; readonly key?: unknown };
  const named = typeof name === 'string' ? name : key;
  // `[{ name: 'Authorization', value: '…' }]`, as some intermediaries write them.
  if (typeof named === 'string' && 'value' in headers && isSecretName(named)) return { ...headers, value: HIDDEN };
  const fields = Object.entries(headers).map(([field, one]): [string, unknown] => [
    field,
    isSecretName(field) ? hiddenValue(one) : withoutSecrets(one),
  ]);
  return Object.fromEntries(fields);
}

/** True when a value at this place of a payload is never shown: a header whose name speaks of a secret. */
export function isSecretPath(path: readonly string[]): boolean {
  return path.some((part, i) => i > 0 && isSecretName(part) && path.slice(0, i).some(holdsHeaders));
}

function isPair(value: unknown): value is readonly [string, unknown] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string';
}

function hiddenPair([name, value]: readonly [string, unknown]): unknown {
  return [name, isSecretName(name) ? hiddenValue(value) : withoutSecrets(value)];
}

/** As many as there are, so that an edit can tell them apart; what a rule has hidden stays as it is. */
function hiddenValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hiddenValue);
  return value === null || value === undefined || value === '[redacted]' ? value : HIDDEN;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array);
}
