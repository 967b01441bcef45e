import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHoldfastError } from './error.ts';
import { idempotencyKey, type IdempotencyKeyParts, parseIdempotencyKey } from './idempotency-key.ts';

const EXAMPLES: readonly [string, IdempotencyKeyParts][] = [
  [
    'workflow:user_123:run_456:module:resume:v1',
    { domain: 'workflow', userId: 'user_123', entityId: 'run_456', operation: 'module:resume', version: 'v1' },
  ],
  [
    'mission:user_123:instance_456:start:v1',
    { domain: 'mission', userId: 'user_123', entityId: 'instance_456', operation: 'start', version: 'v1' },
  ],
  [
    'service:user_123:interview:configure:session_abc',
    { domain: 'service', userId: 'user_123', entityId: 'interview', operation: 'configure', version: 'session_abc' },
  ],
  [
    'event:user_123:growEventId:project:qscore:v1',
    { domain: 'event', userId: 'user_123', entityId: 'growEventId', operation: 'project:qscore', version: 'v1' },
  ],
  [
    'opencode:user_123:run_456:interview-plan:prompt-v4',
    { domain: 'opencode', userId: 'user_123', entityId: 'run_456', operation: 'interview-plan', version: 'prompt-v4' },
  ],
];

const GOOD: IdempotencyKeyParts = { domain: 'd', userId: 'u', entityId: 'e', operation: 'o', version: 'v' };

function problemOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isHoldfastError(error, 'BAD_IDEMPOTENCY_KEY')) return error.details.problem;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('idempotency keys', () => {
  test.each(EXAMPLES)('%s is made from its parts and parsed back to them [S0.3]', (key, parts) => {
    expect(idempotencyKey(parts)).toBe(key);
    expect(parseIdempotencyKey(key)).toEqual(parts);
  });

  test('every key that can be made is parsed back to exactly its parts and fits a header [S0.3]', () => {
    const piece = fc.stringMatching(/^[!-9;-~]{1,40}$/);
    const parts = fc.record({
      domain: piece,
      userId: piece,
      entityId: piece,
      operation: fc.array(piece, { minLength: 1, maxLength: 2 }).map((pieces) => pieces.join(':')),
      version: piece,
    });
    fc.assert(
      fc.property(parts, (p) => {
        const key = idempotencyKey(p);
        expect(parseIdempotencyKey(key)).toEqual(p);
        expect(idempotencyKey(parseIdempotencyKey(key))).toBe(key);
        expect(new Headers({ 'idempotency-key': key }).get('idempotency-key')).toBe(key);
      }),
    );
  });

  test('any text is either parsed to parts that make it again or refused with our own error [S0.3]', () => {
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(':', 'a', ' ', 'é', '\n'), { maxLength: 12 }).map((c) => c.join('')),
    );
    fc.assert(
      fc.property(text, (t) => {
        let parts: IdempotencyKeyParts;
        try {
          parts = parseIdempotencyKey(t);
        } catch (error) {
          expect(isHoldfastError(error, 'BAD_IDEMPOTENCY_KEY')).toBe(true);
          return;
        }
        expect(idempotencyKey(parts)).toBe(t);
      }),
    );
  });

  test.each(['domain', 'userId', 'entityId', 'operation', 'version'] as const)(
    'a wrong %s is refused by its name [S0.3]',
    (name) => {
      expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: '' }))).toBe(`the part ${name} is empty`);
      expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: undefined as never }))).toBe(
        `the part ${name} is not a string`,
      );
      expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: 'a b' }))).toContain(`the part ${name} has a space`);
      expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: 'x\r\ny' }))).toContain('at position 1');
      expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: 'naïve' }))).toContain(`the part ${name} has`);
    },
  );

  test.each(['domain', 'userId', 'entityId', 'version'] as const)('a ":" in %s is refused [S0.3]', (name) => {
    expect(problemOf(() => idempotencyKey({ ...GOOD, [name]: 'a:b' }))).toBe(
      `the part ${name} holds ":", which only the operation may`,
    );
  });

  test.each([':a', 'a:', 'a::b', ':'])('the operation %j with an empty piece is refused [S0.3]', (operation) => {
    expect(problemOf(() => idempotencyKey({ ...GOOD, operation }))).toContain('the part operation has an empty piece');
  });

  test('a key of 255 characters is taken and one of 256 is refused [S0.3]', () => {
    expect(idempotencyKey({ ...GOOD, entityId: 'e'.repeat(247) })).toHaveLength(255);
    expect(problemOf(() => idempotencyKey({ ...GOOD, entityId: 'e'.repeat(248) }))).toContain('256 characters');
    expect(problemOf(() => parseIdempotencyKey('a:'.repeat(200)))).toContain('400 characters');
  });

  test('text with too few or empty parts is refused when parsed [S0.3]', () => {
    expect(problemOf(() => parseIdempotencyKey('a:b:c:d'))).toContain('4 of at least 5 parts');
    expect(problemOf(() => parseIdempotencyKey('a::c:d:e'))).toBe('the part userId is empty');
    expect(problemOf(() => parseIdempotencyKey('a:b:c:d:'))).toBe('the part version is empty');
    expect(problemOf(() => parseIdempotencyKey(7 as never))).toBe('the idempotency key is not a string');
  });

  test('a refused part is never shown in the message, because a user id may be private', () => {
    expect(problemOf(() => idempotencyKey({ ...GOOD, userId: 'anna@example org' }))).not.toContain('anna');
  });
});
