import { expectTypeOf, test } from 'vitest';
import { createRetry, withRetry } from './with-retry.ts';

test('the key the function sees is a string where the operation was given one', () => {
  expectTypeOf(
    withRetry('call', ({ idempotencyKey }) => idempotencyKey, { idempotencyKey: 'k' }),
  ).resolves.toBeString();
  expectTypeOf(withRetry('call', ({ idempotencyKey }) => idempotencyKey)).resolves.toEqualTypeOf<string | undefined>();
  const retry = createRetry({});
  expectTypeOf(retry('call', ({ idempotencyKey }) => idempotencyKey, { idempotencyKey: 'k' })).resolves.toBeString();
});
