import { describe, expect, test } from 'vitest';
import type { Failure } from '../retry/failure.ts';
import { guardReplay, isRepeatable, neverLeft, notActedOn } from './replay-guard.ts';

const UNSAFE = { repeatable: false, bodyIsKept: true };
const failed = (facts: Partial<Failure>): Failure => ({ verdict: 'retry', kind: 'network', ...facts });

describe('the replay guard', () => {
  test('lets a repeatable request be repeated and leaves a refusal as it is [S0.5]', () => {
    const failure = failed({ status: 500 });
    expect(guardReplay(failure, { repeatable: true, bodyIsKept: true }, true)).toBe(failure);
    const refused = failed({ verdict: 'fail', reason: 'server-said-no' });
    expect(guardReplay(refused, UNSAFE, true)).toBe(refused);
  });

  test('refuses what may have been acted on, with the facts kept, whatever the failure is called [S0.5]', () => {
    for (const facts of [{ status: 500 }, { status: 429 }, { code: 'ECONNRESET' }, { code: 'ECONNREFUSED' }, {}]) {
      expect(guardReplay(failed(facts), UNSAFE, true)).toEqual({
        verdict: 'fail',
        kind: 'network',
        reason: 'unsafe-replay',
        ...facts,
      });
    }
  });

  test('lets through what cannot have been acted on, unless the body is gone [S0.5]', () => {
    expect(guardReplay(failed({ status: 429 }), UNSAFE, false).verdict).toBe('retry');
    expect(guardReplay(failed({ status: 429 }), { repeatable: true, bodyIsKept: false }, false)).toMatchObject({
      reason: 'unsafe-replay',
    });
  });

  test('a request cannot have been acted on when no connection was made, or the service says so [S0.5]', () => {
    const codes = ['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'ECONNRESET', 'UND_ERR_SOCKET', 'ETIMEDOUT'];
    expect(codes.filter(neverLeft)).toEqual(['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT']);
    expect([408, 425, 429, 500, 502, 503, 504].filter(notActedOn)).toEqual([425, 429]);
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
