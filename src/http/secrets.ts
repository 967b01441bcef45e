import { HIDDEN, isSecretName } from '../kernel/secret-name.ts';

const SECRET_HEADER = /auth|cookie|credential|key|pass|secret|session|signature|token/i;
// In front of the secret stands the scheme or the name of the cookie.
const SECOND_PART_ON = /authorization|cookie/i;
// Shorter ones would blank half of the text and are no secrets.
const SHORTEST = 6;

/**
 * What must never be shown of one request: the token, and the values of headers, query parameters and body fields whose
 * names speak of secrets. Text that comes from the service goes through `hide` first, because services echo what they were sent.
 */
export class Secrets {
  readonly #values = new Set<string>();
  readonly #bodies: unknown[] = [];

  /** Adds the value of a header and its parts, if its name speaks of a secret. */
  addHeader(name: string, value: string): void {
    if (!SECRET_HEADER.test(name)) return;
    const from = SECOND_PART_ON.test(name) ? 1 : 0;
    for (const parts of [value.split(/\s+/), value.split(/[\s=;,"]+/)]) {
      for (const part of parts.slice(from)) this.add(part);
    }
    this.add(value);
  }

  /** Adds the values whose names speak of secrets. */
  addQuery(query: Iterable<readonly [string, unknown]>): void {
    for (const [name, value] of query) if (typeof value === 'string' && isSecretName(name)) this.add(value);
  }

  /** As `addQuery`, for a body that is JSON or a form. It is read only when something is to be hidden. */
  addBody(body: unknown): void {
    this.#bodies.push(body);
  }

  add(value: string): void {
    if (value.length >= SHORTEST) this.#values.add(value);
  }

  /** The text with every secret blanked, also in the forms JSON (once and twice) and URLs give it. */
  hide(text: string): string {
    for (const body of this.#bodies.splice(0)) this.#readBody(body);
    const forms = new Set([...this.#values].flatMap(formsOf));
    let shown = text;
    // The longest first: blanking a part of it would leave the rest of a secret behind.
    for (const form of [...forms].toSorted((a, b) => b.length - a.length)) shown = shown.replaceAll(form, HIDDEN);
    return shown;
  }

  #readBody(body: unknown): void {
    if (body instanceof URLSearchParams || body instanceof FormData) this.addQuery(body);
    if (typeof body !== 'string') return;
    try {
      this.#readFields(JSON.parse(body));
    } catch {
      if (/^[^\s=&{[]+=\S*$/.test(body)) this.addQuery(new URLSearchParams(body));
    }
  }

  #readFields(value: unknown, isSecret = false): void {
    if (typeof value === 'string' && isSecret) this.add(value);
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      this.#readFields(inner, Array.isArray(value) ? isSecret : isSecretName(name));
    }
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function formsOf(value: string): string[] {
  const inForm = new URLSearchParams({ v: value }).toString().slice('v='.length);
  return [value, inJson(value), inJson(inJson(value)), encodeURIComponent(value), inForm];
}
