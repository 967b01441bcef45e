import { describe, expect, test } from 'vitest';
import type * as original from './error.ts';
import { HoldfastError, isHoldfastError } from './error.ts';

describe('HoldfastError', () => {
  test('carries code, details and cause, and says what to do next', () => {
    const cause = new Error('boom');
    const error = new HoldfastError('ATTEMPT_TIMEOUT', { operation: 'charge', attempt: 2, timeoutMs: 50 }, { cause });
    expect(error).toMatchObject({ name: 'HoldfastError', code: 'ATTEMPT_TIMEOUT', details: { attempt: 2 }, cause });
    expect(error.message).toContain('or raise timeoutMs');
    expect(error).toBeInstanceOf(Error);
  });

  test('is told by its code', () => {
    const error: unknown = new HoldfastError('STREAM_TRUNCATED', { contentChunks: 3, contentLength: 12 });
    expect(isHoldfastError(error)).toBe(true);
    expect(isHoldfastError(error, 'STREAM_TRUNCATED')).toBe(true);
    expect(isHoldfastError(error, 'ATTEMPT_TIMEOUT')).toBe(false);
    expect(isHoldfastError(Object.assign(new Error('x'), { code: 'STREAM_TRUNCATED' }))).toBe(false);
    expect(isHoldfastError('STREAM_TRUNCATED')).toBe(false);
  });

  test('without a code still narrows by its code', () => {
    const error: unknown = new HoldfastError('ATTEMPT_TIMEOUT', { operation: 'charge', attempt: 2, timeoutMs: 50 });
    expect(isHoldfastError(error) && error.code === 'ATTEMPT_TIMEOUT' ? error.details.timeoutMs : undefined).toBe(50);
  });

  test('is known to another copy of the package', async () => {
    const copy = (await import(`${import.meta.resolve('./error.ts')}?copy`)) as typeof original;
    const error = new HoldfastError('STREAM_TRUNCATED', { contentChunks: 3, contentLength: 12 });
    expect(error).not.toBeInstanceOf(copy.HoldfastError);
    expect(copy.isHoldfastError(error, 'STREAM_TRUNCATED')).toBe(true);
  });
});
