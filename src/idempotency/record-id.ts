import { hmacSha256 } from '../system/hmac-sha256.ts';
import { sha256 } from '../system/sha256.ts';

// A JSON list has one reading: no two lists of texts give the same, wherever a separator may stand inside them.

/** The id under which a request is known: another for each service, domain, person and key. 43 characters. */
export function recordId(service: string, domain: string, person: string | null, key: string): string {
  return sha256(JSON.stringify([service, domain, person, key]));
}

/** A person as stores know them. The same id of a person in two services is two: one may be a user and the other a tenant. */
export function personId(service: string, person: string): string {
  return sha256(JSON.stringify([service, person]));
}

/** A key for a call to somebody else: the same in every run of a record, another for each step. 43 characters. */
export function childKey(id: string, step: string): string {
  return sha256(JSON.stringify(['child', id, step]));
}

/**
 * The digest of a request as its record has it, which tells it from another request under the same key. Keyed by what no record
 * holds, the key as the client wrote it, so that every process makes the same one without a setting, equal secrets of two requests
 * look different, and a reader of the store has to guess the key before they can try passwords against it. 43 characters.
 */
export function recordFingerprint(
  service: string,
  { domain, person, key, fingerprint }: RecordFacts & { readonly fingerprint: string },
): string {
  return hmacSha256(JSON.stringify(['fingerprint', service, domain, person, key]), fingerprint);
}

interface RecordFacts {
  readonly domain: string;
  readonly person: string | null;
  readonly key: string;
}
