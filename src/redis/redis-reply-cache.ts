import type { FinishedStatus } from '../idempotency/idempotency-store.ts';
import { type CachedAbout, type CachedReply, ERASED_MS, type ReplyCache } from '../idempotency/reply-cache.ts';
import { CACHE_ERASE, CACHE_GET, CACHE_PUT } from './cache-scripts.ts';
import type { RedisOptions } from './redis-idempotency.ts';
import { line, plain, replyLines, replyOf } from './record-text.ts';
import { openRunner, textOf } from './script-runner.ts';

// Keys that are looked at by one script call while erasing: it holds up everybody else for less than a millisecond.
const SCAN_COUNT = 1_000;

// A reply is one text, five lines and the reply behind them: a client that reads JSON or removes byte order marks changes no such text.
const MARK = 'reply 1';
const FACTS = 5;

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
      const found = await run(CACHE_GET, [replyKey(about)], []);
      return found === null ? undefined : cachedReply(textOf(found as string));
    },
    async put(about, { fingerprint, status, reply, finishedAt, expiresAt }, ttlMs) {
      if (!(ttlMs > 0)) return;
      const keys = about.person === null ? [replyKey(about)] : [replyKey(about), erasedKey(about.person)];
      const facts = [MARK, line(fingerprint), status, finishedAt, expiresAt, replyLines(reply)];
      await run(CACHE_PUT, keys, [String(Math.ceil(ttlMs)), facts.join('\n')]);
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

function cachedReply(text: string): CachedReply | undefined {
  const [mark, fingerprint = '', status, finishedAt, expiresAt, ...rest] = text.split('\n', FACTS + 1);
  if (mark !== MARK || rest.length === 0) return undefined;
  const reply = replyOf(text.slice(behindLines(text, FACTS)));
  if (reply === null) return undefined;
  return {
    fingerprint: plain(fingerprint),
    status: status as FinishedStatus,
    reply,
    finishedAt: Number(finishedAt),
    expiresAt: Number(expiresAt),
  };
}

/** Where the text goes on behind so many lines. */
function behindLines(text: string, lines: number): number {
  let at = 0;
  for (let n = 0; n < lines; n++) at = text.indexOf('\n', at) + 1;
  return at;
}
