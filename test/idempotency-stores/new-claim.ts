import { randomBytes } from 'node:crypto';
import type { Claim, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import type { CachedAbout, CachedReply } from '../../src/idempotency/reply-cache.ts';

/** As a digest is written. */
export function digest(): string {
  return randomBytes(32).toString('base64url');
}

/** A claim of somebody to something new, which holds for ten minutes and is kept for an hour. */
export function newClaim(about: Partial<Claim> = {}): Claim {
  return {
    id: digest(),
    domain: 'POST /orders',
    person: digest(),
    fingerprint: digest(),
    owner: digest(),
    leaseMs: 600_000,
    keepMs: 3_600_000,
    takeUnknown: false,
    ...about,
  };
}

/** The same request by somebody else. */
export function rivalOf(claim: Claim, about: Partial<Claim> = {}): Claim {
  return { ...claim, owner: digest(), ...about };
}

/** An end with a reply of bytes that are no text. */
export const FINISH: RunEnd = {
  kind: 'finish',
  status: 'completed',
  reply: { head: '{"status":201}', body: Uint8Array.of(0, 0x80, 0xff, 0x0a) },
};

/** A reply of somebody to something, to be kept in a cache. */
export function newCached(about: Partial<CachedAbout> = {}): {
  readonly about: CachedAbout;
  readonly cached: CachedReply;
} {
  return {
    about: { id: digest(), person: digest(), ...about },
    cached: {
      fingerprint: digest(),
      status: 'completed',
      reply: { head: '{"status":201}', body: Uint8Array.of(0, 0x80, 0xff, 0x0a) },
      finishedAt: 1_770_000_000_123,
      expiresAt: 1_770_086_400_123,
    },
  };
}
