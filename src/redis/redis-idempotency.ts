import type { Claim, ClaimAnswer, EndAnswer, IdempotencyStore, RunEnd } from '../idempotency/idempotency-store.ts';
import { RecordKeys, TAGS } from './record-keys.ts';
import { CLAIM, END, ERASE, FIND, LIST, RENEW } from './record-scripts.ts';
import type { RedisClient } from './redis-client.ts';
import { claimHead, claimTimes, claimTtlMs, finishedRecord, line, replyLines, shownRecord } from './record-text.ts';
import { openRunner, type RunScript, type SetNew, textOf, texts } from './script-runner.ts';

/** What the functions for Redis take. */
export interface RedisOptions {
  /**
   * A client of ioredis or of node-redis (4 to 6), connected or about to be, of a single server, a sentinel set-up or a cluster; or one of
   * @upstash/redis, over HTTP.
   */
  readonly client: RedisClient;
  /** What all our keys begin with. Default `holdfast:`. No braces. */
  readonly prefix?: string | undefined;
}

/**
 * Idempotency records in Redis as the only store (proven on version 7; nothing newer than 5 is asked of it): each step is one round trip, by the
 * clock of the server; a claim that meets what runs or is unknown may be two. From version 7 on, a claim of nobody in particular needs no script.
 * Bytes of replies that are not UTF-8 take a third more room. Nothing of a record outlives its time, but for its id in the list by
 * which persons are erased: that goes with the next record of this person, or with their last one.
 *
 * It is as safe as the server is: one that evicts, or that comes back from a failure without its last writes, has forgotten what runs.
 * `checkRedis` tells what can be told. Where nothing may happen twice, use PostgreSQL, and Redis as its cache of replies.
 */
export function redisIdempotency(options: RedisOptions): IdempotencyStore {
  const { run, setNew, prefix } = openRunner('redisIdempotency()', options);
  const keys = new RecordKeys(prefix);
  const claimNew = setNew && plainClaim(setNew, keys);
  return {
    async claim(claim) {
      // The list of a person has to change together with the record.
      const answer = claim.person === null ? await claimNew?.(claim) : undefined;
      if (answer !== undefined) return answer;
      return claimAnswer(claim, await run(CLAIM, keys.of(claim), step(claim, claim.takeUnknown ? 'take' : 'tell')));
    },
    async renew(claim) {
      return Number(await run(RENEW, keys.of(claim), step(claim))) === 1;
    },
    async end(claim, end) {
      return endAnswer(await run(END, keys.of(claim), step(claim, ...endTexts(end))));
    },
    async find(id) {
      const found = await run(FIND, [keys.record(id)], []);
      return found === null ? undefined : shownRecord(id, textOf(found as string));
    },
    erase: (person) => erasePerson(run, keys, person),
    // Redis removes what has expired by itself.
    reap: async () => 0,
  };
}

function step(claim: Claim, ...more: readonly string[]): string[] {
  // Only the list of a person has ids in it.
  const id = claim.person === null ? '' : claim.id;
  return [claimHead(claim), id, String(claim.leaseMs), String(claim.keepMs), ...more];
}

/** A claim by a plain command: granted, or answered from what has finished. Nothing where a script has to decide. */
function plainClaim(setNew: SetNew, keys: RecordKeys): (claim: Claim) => Promise<ClaimAnswer | undefined> {
  let isKnown = true;
  return async (claim) => {
    if (!isKnown) return undefined;
    try {
      const found = await setNew(keys.record(claim.id), claimHead(claim) + claimTimes(claim), claimTtlMs(claim));
      return found === undefined ? { kind: 'claimed', run: 1 } : finishedAnswer(claim, found);
    } catch (error) {
      const word = error instanceof Error ? REFUSED.exec(error.message)?.[0] : undefined;
      if (word === undefined) throw error;
      // Before version 7 it was either `NX` or `GET`.
      if (word === 'ERR syntax') isKnown = false;
      return undefined;
    }
  };
}

// A server that takes no writes answers repetitions all the same: by the script, which writes only what is new.
const REFUSED = /^(?:ERR syntax|MISCONF|NOPERM|NOREPLICAS|OOM|READONLY)/;

function finishedAnswer(claim: Claim, text: string): ClaimAnswer | undefined {
  const record = finishedRecord(text);
  if (record === undefined) return undefined;
  const { fingerprint, ...rest } = record;
  return fingerprint === claim.fingerprint ? { kind: 'finished', ...rest } : { kind: 'mismatch' };
}

// So many records are erased by one script call: it holds up everybody else for about a millisecond.
const PAGE = 200;

/** Page by page, all lists at once. When it rejects, some of it may have been done: repeat it. */
async function erasePerson(run: RunScript, keys: RecordKeys, person: string): Promise<number> {
  const erased = await Promise.all(
    Array.from(TAGS, async (tag) => {
      const list = keys.list(tag, person);
      let count = 0;
      for (;;) {
        const ids = texts(await run(LIST, [list], [String(PAGE)]));
        if (ids.length === 0) return count;
        count += Number(await run(ERASE, [list, ...ids.map((id) => keys.record(id))], [line(person), ...ids]));
      }
    }),
  );
  return erased.reduce((sum, count) => sum + count, 0);
}

const LETTERS = { completed: 'c', failed: 'f' } as const;

function endTexts(end: RunEnd): readonly [what: string, reply: string] {
  if (end.kind === 'finish') return [LETTERS[end.status], replyLines(end.reply)];
  return [end.kind === 'doubt' ? 'u' : 'release', ''];
}

function claimAnswer(claim: Claim, answer: unknown): ClaimAnswer {
  if (!Array.isArray(answer)) {
    // A client may give numbers as texts.
    const told = textOf(answer as string | number);
    if (told === '1') return { kind: 'claimed', run: 1 };
    const finished = finishedAnswer(claim, told);
    if (finished) return finished;
  }
  const [kind, first = ''] = texts(answer);
  switch (kind) {
    case 'claimed':
    case 'unknown':
      return { kind, run: Number(first) };
    case 'mismatch':
      return { kind };
    case 'running':
      return { kind, leaseLeftMs: Number(first) };
    default:
      throw new TypeError('what answers the claim is not our script');
  }
}

function endAnswer(answer: unknown): EndAnswer {
  switch (Number(answer)) {
    case 1:
      return 'ended';
    case 0:
      return 'late';
    default:
      throw new TypeError('what answers the end is not our script');
  }
}
