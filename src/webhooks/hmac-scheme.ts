import type { OptionCheck } from '../kernel/check-options.ts';
import { hmacKey, isSigned } from './hmac-key.ts';
import type { Verdict } from './verdict.ts';

// One for each secret that is in use: a sender that changes one has two. Each is work on the whole body.
const MOST_SIGNATURES = 20;

/** Secrets that are text, any of which may have signed: so they can be changed without a gap. */
export class HmacSecrets {
  readonly #keys: Promise<readonly CryptoKey[]>;

  constructor(secrets: readonly string[]) {
    this.#keys = Promise.all(secrets.map((secret) => hmacKey(new TextEncoder().encode(secret))));
  }

  /** Whether one of the signatures, each as 64 hexadecimal digits in lower case, is by one of the secrets. */
  async haveSigned(data: Uint8Array<ArrayBuffer>, signatures: readonly string[]): Promise<boolean> {
    for (const signature of signatures.slice(0, MOST_SIGNATURES)) {
      if (!/^[0-9a-f]{64}$/.test(signature)) continue;
      const bytes = Uint8Array.from({ length: 32 }, (_, at) =>
        Number.parseInt(signature.slice(2 * at, 2 * at + 2), 16),
      );
      for (const key of await this.#keys) if (await isSigned(key, bytes, data)) return true;
    }
    return false;
  }
}

/** The seconds that a header tells, and what is wrong with them at `nowMs`. */
export function sentAt(
  text: string,
  toleranceS: number,
  nowMs: number,
): { readonly problem: string } | { readonly validForMs: number } {
  if (!/^\d{1,12}$/.test(text)) return { problem: 'the time it was sent is not a number of seconds' };
  if (Math.abs(nowMs / 1_000 - Number(text)) > toleranceS)
    return { problem: 'it was sent too long ago, or is ahead of its time' };
  return { validForMs: (Number(text) + toleranceS) * 1_000 - nowMs };
}

/** What stands before the body in what is signed, and the body. */
export function withHead(head: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = new TextEncoder().encode(head);
  const bytes = new Uint8Array(first.length + body.length);
  bytes.set(first);
  bytes.set(body, first.length);
  return bytes;
}

/** The fields of a body that is a JSON object; none of one that is not. */
export function jsonFields(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Checks a list of secrets. `from` says where they are found. */
export function checkSecrets(check: OptionCheck, secrets: unknown, from: string): void {
  const isFit =
    Array.isArray(secrets) && secrets.length > 0 && secrets.every((one) => typeof one === 'string' && one !== '');
  if (!isFit) check.refuse('secrets', secrets, `pass a list of texts, ${from}`);
}

/** Checks a number of seconds that may be left out. */
export function checkSeconds(check: OptionCheck, name: string, value: unknown, min: number, max: number): void {
  if (value !== undefined) check.number(name, value, { min, max, write: `write ${min} to ${max} seconds` });
}

export function refused(problem: string): Verdict {
  return { kind: 'refused', problem };
}
