import type { Effects } from '../kernel/effects.ts';

interface Bucket {
  left: number;
  atMs: number;
}

// More names than that at once are an attack; the one that was quiet the longest is forgotten.
const MOST_NAMES = 10_000;

/** At most so many a minute for each name, as many at once as a minute has. Takes bounded memory, whatever names come. */
export class RateLimit {
  readonly #effects: Effects;
  readonly #perMinute: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(effects: Effects, perMinute: number) {
    this.#effects = effects;
    this.#perMinute = perMinute;
  }

  /** Takes one; answers 0, or how many seconds to wait where none is left. */
  take(name: string): number {
    const wait = this.#waitSeconds(name);
    const bucket = this.#buckets.get(name);
    if (wait === 0 && bucket) bucket.left -= 1;
    return wait;
  }

  #waitSeconds(name: string): number {
    const bucket = this.#refilled(name);
    if (bucket.left >= 1) return 0;
    return Math.max(1, Math.ceil(((1 - bucket.left) / this.#perMinute) * 60));
  }

  #refilled(name: string): Bucket {
    const atMs = this.#effects.monoMs();
    const old = this.#buckets.get(name);
    const gained = old === undefined ? this.#perMinute : ((atMs - old.atMs) / 60_000) * this.#perMinute;
    const bucket = { left: Math.min(this.#perMinute, (old?.left ?? 0) + gained), atMs };
    // The map keeps the order of writing: the first is the one that was quiet the longest.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > MOST_NAMES) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return bucket;
  }
}
