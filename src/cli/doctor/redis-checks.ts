import { checkRedis, type RedisProblem } from '../../redis/check-redis.ts';
import { withoutSecrets } from '../database-target.ts';
import type { Io } from '../io.ts';
import { openRedis, type RedisDriver } from '../redis-driver.ts';
import type { CheckFinding } from '../../postgres/doctor/finding.ts';

/** Which Redis is meant, and how surely it is one of ours. */
interface RedisTarget {
  readonly url: string;
  /** `--redis`, or the name of a variable. */
  readonly from: string;
  /** Somebody said that our records are there. `REDIS_URL` may be anybody's cache, for which other rules hold. */
  readonly isOurs: boolean;
}

const CHECK = 'redis';
const FORM = 'redis://user:password@host:6379';
// A server that hangs accepts connections and answers nothing.
const ANSWERS_WITHIN_MS = 10_000;

/** Whether a Redis that holds idempotency records may forget any of them. No finding where none was named. */
export async function redisFindings(io: Io, given: string | undefined): Promise<readonly CheckFinding[]> {
  const target = redisTarget(io, given);
  if (target === undefined) return [];
  const grave = target.isOurs ? 'problem' : 'warning';
  const url = URL.canParse(target.url) ? new URL(target.url) : undefined;
  if (url === undefined || !/^rediss?:$/.test(url.protocol)) {
    // The text is not shown: whatever it is, it may hold the password.
    return [{ check: CHECK, status: grave, found: `${target.from} is not the URL of a Redis`, next: `write ${FORM}` }];
  }
  const place = `${url.hostname}:${url.port === '' ? '6379' : url.port} (from ${target.from})`;
  const driver = await openRedis(target.url, io.cwd, ANSWERS_WITHIN_MS);
  if (driver === undefined) {
    const next = 'npm install ioredis, or redis, here';
    return [{ check: CHECK, status: target.isOurs ? 'problem' : 'skipped', found: 'no client is installed', next }];
  }
  try {
    return await ask(io, driver, place, target);
  } catch (error) {
    const found = `${place} cannot be asked: ${withoutSecrets(messageOf(error), undefined)}`;
    return [{ check: CHECK, status: grave, found, next: nextOf(error) }];
  } finally {
    driver.close();
  }
}

function redisTarget({ env }: Io, given: string | undefined): RedisTarget | undefined {
  if (given !== undefined) return { url: given, from: '--redis', isOurs: true };
  for (const [from, isOurs] of [
    ['HOLDFAST_REDIS_URL', true],
    ['REDIS_URL', false],
  ] as const) {
    const url = env[from];
    if (url !== undefined && url !== '') return { url, from, isOurs };
  }
  return undefined;
}

async function ask(io: Io, driver: RedisDriver, place: string, target: RedisTarget): Promise<readonly CheckFinding[]> {
  const problems = await inTime(io, async () => {
    await driver.connect();
    return checkRedis({ client: driver.client });
  });
  if (problems.length === 0) {
    const found = `${place}, through ${driver.name}: evicts nothing and writes a log`;
    return [{ check: CHECK, status: 'ok', found }];
  }
  return problems.map(({ kind, found, next }) => ({
    check: CHECK,
    status: statusOf(kind, target.isOurs),
    found: `${place}: ${found}`,
    next: target.isOurs ? next : `if idempotency records are there, ${next}`,
  }));
}

/** One that may forget what runs lets it run twice. That a crash may lose the last second is for its owner to weigh. */
function statusOf(kind: RedisProblem['kind'], isOurs: boolean): CheckFinding['status'] {
  return isOurs && (kind === 'evicts' || kind === 'replica') ? 'problem' : 'warning';
}

function inTime<T>({ effects }: Io, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = effects.setTimer(
      () => reject(new Error(`no answer within ${ANSWERS_WITHIN_MS / 1_000} s`)),
      ANSWERS_WITHIN_MS,
    );
    work()
      .finally(() => effects.clearTimer(timer))
      .then(resolve, reject);
  });
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}

function nextOf(error: unknown): string {
  const text = messageOf(error);
  if (/^(?:MOVED|CROSSSLOT)\b/.test(text))
    return 'it is a cluster: call checkRedis({ client }) with your Cluster client';
  if (/\b(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(text)) return `write user and password into the URL: ${FORM}`;
  return 'start it, or name the right one with --redis';
}
