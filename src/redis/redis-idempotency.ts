import type {
  Claim,
  ClaimAnswer,
  EndAnswer,
  FinishedStatus,
  IdempotencyRecord,
  IdempotencyStore,
  RunEnd,
} from '../idempotency/idempotency-store.ts';
import { RecordKeys, TAGS } from './record-keys.ts';
import { CLAIM, END, ERASE, FIND, LIST, RENEW } from './record-scripts.ts';
import type { RedisClient } from './redis-client.ts';
import { replyFromText, replyToText } from './reply-text.ts';
import { openRunner, type RunScript, texts } from './script-runner.ts';

/** What the functions for Redis take. */
export interface RedisOptions {
  /** A client of ioredis or of node-redis (4 to 6), connected or about to be; of a single server, a sentinel set-up or a cluster. */
  readonly client: RedisClient;
  /** What all our keys begin with. Default `holdfast:`. No braces. */
  readonly prefix?: string | undefined;
}

/**
 * Idempotency records in Redis as the only store (proven on version 7; nothing newer than 5 is asked of it): each step is one script call, by the clock of the server.
 * Bytes of replies that are not UTF-8 take a third more room. Nothing of a record outlives its time, but for its id in the list by
 * which persons are erased: that goes with the next record of this person, or with their last one.
 *
 * It is as safe as the server is: one that evicts, or that comes back from a failure without its last writes, has forgotten what runs.
 * `checkRedis` tells what can be told. Where nothing may happen twice, use PostgreSQL, and Redis as its cache of replies.
 */
export function redisIdempotency(options: RedisOptions): IdempotencyStore {
  const { run, prefix } = openRunner('redisIdempotency()', options);
  const keys = new RecordKeys(prefix);
  const step = (claim: Claim): [keys: readonly string[], args: readonly string[]] => [
    keys.of(claim),
    [
      claim.id,
      claim.domain,
      claim.person ?? '',
      claim.fingerprint,
      claim.owner,
      String(claim.leaseMs),
      String(claim.keepMs),
    ],
  ];
  return {
    async claim(claim) {
      const [at, args] = step(claim);
      return claimAnswer(texts(await run(CLAIM, at, [...args, claim.takeUnknown ? 'take' : 'tell'])));
    },
    async renew(claim) {
      return Number(await run(RENEW, ...step(claim))) === 1;
    },
    async end(claim, end) {
      const [at, args] = step(claim);
      return endAnswer(String(await run(END, at, [...args, ...endTexts(end)])));
    },
    async find(id) {
      return foundRecord(id, texts(await run(FIND, [keys.record(id)], [])));
    },
    erase: (person) => erasePerson(run, keys, person),
    // Redis removes what has expired by itself.
    reap: async () => 0,
  };
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
        count += Number(await run(ERASE, [list, ...ids.map((id) => keys.record(id))], [person, ...ids]));
      }
    }),
  );
  return erased.reduce((sum, count) => sum + count, 0);
}

function endTexts(end: RunEnd): readonly string[] {
  if (end.kind === 'finish') return [end.status, ...replyToText(end.reply)];
  return [end.kind === 'doubt' ? 'unknown' : 'release', '', '', ''];
}

function claimAnswer(answer: readonly string[]): ClaimAnswer {
  const [kind, first = '', second, third, form = '', head = '', body = ''] = answer;
  switch (kind) {
    case 'claimed':
    case 'unknown':
      return { kind, run: Number(first) };
    case 'mismatch':
      return { kind };
    case 'running':
      return { kind, leaseLeftMs: Number(first) };
    case 'finished': {
      const reply = replyFromText(form, head, body);
      const [finishedAt, expiresAt] = [Number(second), Number(third)];
      return { kind: 'finished', status: first as FinishedStatus, reply, finishedAt, expiresAt };
    }
    default:
      throw new TypeError('what answers the claim is not our script');
  }
}

function endAnswer(answer: string): EndAnswer {
  if (answer === 'ended' || answer === 'late') return answer;
  throw new TypeError('what answers the end is not our script');
}

function foundRecord(id: string, answer: readonly string[]): IdempotencyRecord | undefined {
  const [
    domain,
    person,
    status,
    run,
    fingerprint = '',
    createdAt,
    updatedAt,
    expiresAt,
    form = '',
    head = '',
    body = '',
  ] = answer;
  if (domain === undefined) return undefined;
  return {
    id,
    domain,
    person: person === '' ? null : (person ?? null),
    status: status as IdempotencyRecord['status'],
    run: Number(run),
    fingerprint,
    reply: replyFromText(form, head, body),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
    expiresAt: Number(expiresAt),
  };
}
