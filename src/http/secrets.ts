const SECRET_NAME = /auth|cookie|credential|key|pass|secret|session|signature|token/i;
// Shorter ones would blank half of the text and are no secrets.
const SHORTEST = 6;

/**
 * What must never be shown of one request: the token, and the values of headers whose names speak of secrets. Text that
 * comes from the service goes through `hide` first, because services echo what they were sent.
 */
export class Secrets {
  readonly #values = new Set<string>();

  /** Adds the value of a header, if its name speaks of a secret. */
  addHeader(name: string, value: string): void {
    if (SECRET_NAME.test(name)) this.add(value);
  }

  add(value: string): void {
    if (value.length >= SHORTEST) this.#values.add(value);
  }

  /** The text with every secret blanked, also in the forms JSON and URLs give it. */
  hide(text: string): string {
    let shown = text;
    for (const value of this.#values) {
      for (const form of new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])) {
        shown = shown.replaceAll(form, '[hidden]');
      }
    }
    return shown;
  }
}
