import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { newId } from '../system/new-id.ts';
import type { HeldKeys, KeyLock } from '../transport/key-lock.ts';
import { within } from '../transport/within.ts';
import type { RedisClient } from './redis-client.ts';
import { openRunner, type RunScript, Script } from './script-runner.ts';

/** What `redisKeyLock` takes. Only the client must be there. */
export interface RedisKeyLockOptions {
  /** A client of ioredis or node-redis. It stays the application's. */
  readonly client: RedisClient;
  /** Stands before its keys. Default `holdfast:`. */
  readonly prefix?: string | undefined;
  /** After this long, in milliseconds, a key is free whose holder says nothing. It says so three times as often. Default 5,000. */
  readonly holdMs?: number | undefined;
  /** How long to wait for keys that others hold, in milliseconds. Default 10,000. */
  readonly waitMs?: number | undefined;
}

const LOOK_MS = 20;
// The fence of a key that was not held for so long begins at the server's time, which is greater by then.
const FENCE_MS = '86400000';

// Keys: the lock, its fence. Arguments: owner, time to live, how long a fence is kept. Answers the fence, or nothing.
const TAKE = new Script(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return '' end
local now = redis.call('TIME')
local fence = math.max(tonumber(redis.call('GET', KEYS[2]) or 0) + 1, now[1] * 1000000 + now[2])
local text = string.format('%.0f', fence)
redis.call('SET', KEYS[2], text, 'PX', ARGV[3])
return text
`);
const RENEW = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
`);
const RELEASE = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

/**
 * Holds keys in Redis, each for a short while that is renewed, with a fence that grows from holder to holder. As any lock that runs out, it
 * may be lost without the holder knowing, when its process or Redis stands still; what must not happen then is to be told by the fence.
 */
export function redisKeyLock(options: RedisKeyLockOptions): KeyLock {
  const { holdMs = 5_000, waitMs = 10_000, ...rest } = options;
  const { run, prefix } = openRunner('redisKeyLock()', rest);
  const check = new OptionCheck('redisKeyLock()');
  check.number('holdMs', holdMs, { min: 100, integer: true, write: 'write milliseconds from 100' });
  check.number('waitMs', waitMs, { min: 0, write: 'write milliseconds from 0' });
  check.done();
  return { hold: (keys) => new Hold({ run, prefix, holdMs, waitMs }).take(keys) };
}

interface Parts {
  readonly run: RunScript;
  readonly prefix: string;
  readonly holdMs: number;
  readonly waitMs: number;
}

class Hold implements HeldKeys {
  readonly fences = new Map<string, string>();
  readonly #parts: Parts;
  readonly #owner = newId();
  readonly #released = new AbortController();
  readonly #sleep = createSleep(systemEffects);

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async take(keys: readonly string[]): Promise<HeldKeys> {
    const { waitMs } = this.#parts;
    const beganMs = systemEffects.monoMs();
    void this.#renewAll();
    try {
      for (let open = keys; ;) {
        open = await this.#takeSome(open);
        if (open.length === 0) return this;
        const waitedMs = Math.round(systemEffects.monoMs() - beganMs);
        if (waitedMs >= waitMs) throw new HoldfastError('KEYS_HELD', { waitedMs });
        await this.#sleep(LOOK_MS * (0.5 + systemEffects.random()));
      }
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  async release(): Promise<void> {
    this.#released.abort();
    await this.#releaseAll([...this.fences.keys()]);
  }

  /**
   * Asks for all at once, and gives back those behind the first that is not to be had: who holds keys only ever waits for one that comes
   * after them. Answers what is still open.
   */
  async #takeSome(keys: readonly string[]): Promise<readonly string[]> {
    const { holdMs } = this.#parts;
    const answers = await Promise.all(keys.map((key) => this.#run(TAKE, key, [this.#owner, String(holdMs), FENCE_MS])));
    const missed = answers.indexOf('');
    const count = missed === -1 ? keys.length : missed;
    for (const [at, key] of keys.slice(0, count).entries()) this.fences.set(key, answers[at] ?? '');
    await this.#releaseAll(keys.slice(count).filter((_, at) => answers[count + at] !== ''));
    return keys.slice(count);
  }

  async #releaseAll(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#run(RELEASE, key, [this.#owner]).catch(() => undefined)));
  }

  async #renewAll(): Promise<void> {
    const { holdMs } = this.#parts;
    const { signal } = this.#released;
    try {
      for (;;) {
        await this.#sleep(holdMs / 3, signal);
        const args = [this.#owner, String(holdMs)];
        await Promise.all([...this.fences.keys()].map((key) => this.#run(RENEW, key, args).catch(() => undefined)));
      }
    } catch {
      // It was released.
    }
  }

  /** Lock and fence lie in one slot of a cluster. */
  async #run(script: Script, key: string, args: readonly string[]): Promise<string> {
    const { run, prefix } = this.#parts;
    const names = [`${prefix}lock:{k${key}}`, `${prefix}fence:{k${key}}`];
    return String(await within(systemEffects, run(script, script === TAKE ? names : names.slice(0, 1), args)));
  }
}
