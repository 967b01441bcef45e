import type { Claim } from '../idempotency/idempotency-store.ts';

/** What keys have in braces: one of 64 letters. */
export const TAGS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Where records lie. A cluster puts all keys with the same text in braces into one slot, and a script may only touch one slot: so a
 * record and its part of the list of its person have the same letter there. It follows from the id alone, and spreads the records
 * over the servers of a cluster.
 */
export class RecordKeys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The record, and the list of its person if there is one. */
  of({ id, person }: Claim): readonly string[] {
    return person === null ? [this.record(id)] : [this.record(id), this.list(tagOf(id), person)];
  }

  record(id: string): string {
    return `${this.#prefix}r:{${tagOf(id)}}:${id}`;
  }

  list(tag: string, person: string): string {
    return `${this.#prefix}p:{${tag}}:${person}`;
  }
}

function tagOf(id: string): string {
  return TAGS.charAt(id.charCodeAt(0) % TAGS.length);
}
