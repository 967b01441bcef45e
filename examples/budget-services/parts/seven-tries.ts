import { exponential, type Policy, policy } from 'holdfast';

/** Seven tries with waits of 250 ms, doubling, up to 30 s, each with jitter; then a dead letter. It is `consumer`, only faster. */
export function sevenTries(speed: number): Policy {
  return policy({
    maxAttempts: 7,
    schedule: exponential({ baseMs: 250 / speed, maxMs: 30_000 / speed }),
    timeoutMs: 10_000,
  });
}
