import type { FinishedStatus } from '../idempotency/idempotency-store.ts';
import { type CachedAbout, type CachedReply, ERASED_MS, type ReplyCache } from '../idempotency/reply-cache.ts';
import { CACHE_ERASE, CACHE_GET, CACHE_PUT } from './cache-scripts.ts';
import type { RedisOptions } from './redis-idempotency.ts';
import { replyFromText, replyToText } from './reply-text.ts';
import { openRunner, texts } from './script-runner.ts';

// Keys that are looked at by one script call while erasing: it holds up everybody else for less than a millisecond.
const SCAN_COUNT = 1_000;

/**
 * Finished replies in Redis, in front of a store that holds the truth. It may evict as it likes. All replies of a person lie in one
 * hash slot, so that a cluster works too. Erasing looks at every key of the server that holds them, a thousand at a time: an index
 * might have been evicted, and what was not found then would not be removed.
 */
export function redisReplyCache(options: RedisOptions): ReplyCache {
  const { run, prefix } = openRunner('redisReplyCache()', options);
  const replyKey = ({ id, person }: CachedAbout): string =>
    person === null ? `${prefix}c:{${id}}` : `${prefix}c:{${person}}:${id}`;
  const erasedKey = (person: string): string => `${prefix}e:{${person}}`;
  return {
    async get(about) {
      return cachedReply(texts(await run(CACHE_GET, [replyKey(about)], [])));
    },
    async put(about, { fingerprint, status, reply, finishedAt, expiresAt }, ttlMs) {
      if (!(ttlMs > 0)) return;
      const keys = about.person === null ? [replyKey(about)] : [replyKey(about), erasedKey(about.person)];
      const facts = [String(Math.ceil(ttlMs)), fingerprint, status, String(finishedAt), String(expiresAt)];
      await run(CACHE_PUT, keys, [...facts, ...replyToText(reply)]);
    },
    async erase(person) {
      const keys = [erasedKey(person), replyKey({ id: '', person })];
      let cursor = '0';
      do {
        cursor = String(await run(CACHE_ERASE, keys, [String(ERASED_MS), cursor, String(SCAN_COUNT)]));
      } while (cursor !== '0');
    },
  };
}

function cachedReply(answer: readonly string[]): CachedReply | undefined {
  const [fingerprint, status, finishedAt, expiresAt, form = '', head = '', body = ''] = answer;
  const reply = replyFromText(form, head, body);
  if (fingerprint === undefined || reply === null) return undefined;
  return {
    fingerprint,
    status: status as FinishedStatus,
    reply,
    finishedAt: Number(finishedAt),
    expiresAt: Number(expiresAt),
  };
}
