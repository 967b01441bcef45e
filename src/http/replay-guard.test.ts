import { describe, expect, test } from 'vitest';
import type { Failure } from '../retry/failure.ts';
import { guardReplay, isRepeatable } from './replay-guard.ts';

const UNSAFE = { repeatable: false, bodyIsKept: true };
const failed = (facts: Partial<Failure>): Failure => ({ verdict: 'retry', kind: 'network', ...facts });

describe('the replay guard', () => {
  test('lets a repeatable request be repeated and leaves a refusal as it is [S0.5]', () => {
    const failure = failed({ status: 500 });
    expect(guardReplay(failure, { repeatable: true, bodyIsKept: true })).toBe(failure);
    const refused = failed({ verdict: 'fail', reason: 'server-said-no' });
    expect(guardReplay(refused, UNSAFE)).toBe(refused);
  });

  test('refuses what may have been acted on, with the facts kept [S0.5]', () => {
    for (const facts of [
      { status: 500 },
      { status: 503 },
      { code: 'ECONNRESET' },
      { code: 'UND_ERR_SOCKET' },
      { code: 'ETIMEDOUT' },
      {},
    ]) {
      expect(guardReplay(failed(facts), UNSAFE)).toEqual({
        verdict: 'fail',
        kind: 'network',
        reason: 'unsafe-replay',
        ...facts,
      });
    }
  });

  test('lets through what cannot have been acted on, unless the body is gone [S0.5]', () => {
    for (const facts of [
      { status: 425 },
      { status: 429 },
      { code: 'ECONNREFUSED' },
      { code: 'ENOTFOUND' },
      { code: 'UND_ERR_CONNECT_TIMEOUT' },
    ]) {
      expect(guardReplay(failed(facts), UNSAFE).verdict).toBe('retry');
      expect(guardReplay(failed(facts), { repeatable: true, bodyIsKept: false })).toMatchObject({
        reason: 'unsafe-replay',
      });
    }
  });

  test('a request is repeatable by its method, its key or the word of the caller, which wins [S0.5]', () => {
    expect(
      ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'POST', 'PATCH'].filter(
        (method) => !isRepeatable(method, undefined, undefined),
      ),
    ).toEqual(['POST', 'PATCH']);
    expect(isRepeatable('POST', 'k', undefined)).toBe(true);
    expect(isRepeatable('POST', undefined, true)).toBe(true);
    expect(isRepeatable('GET', 'k', false)).toBe(false);
  });
});
