import { PGlite } from '@electric-sql/pglite';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toDeliveryError } from '../../src/relay/delivery-error.ts';

/** Also halves of surrogate pairs and control characters; fast-check's own list of such takes a second to build. */
const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

let database: PGlite;
beforeAll(async () => {
  database = await PGlite.create();
});
afterAll(() => database.close());

test('PostgreSQL stores the kept error of anything that is thrown, and gives it back as it was', async () => {
  const text = fc.string({ unit: anyUnit, maxLength: 50 });
  const odd = fc.constantFrom('\u0000', '\ud83d', 'a\u0000b', '\udc00 \u001b[31m', '\\u0000');
  const thrown = fc.oneof(
    fc.anything(),
    odd,
    fc.record({ message: fc.oneof(text, odd), name: odd, code: odd, stack: text }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(thrown, { maxLength: 20 }), async (all) => {
      const kept = all.map((one) => toDeliveryError(one, { verdict: 'retry', kind: 'unknown' }));
      const { rows } = await database.query<{ e: unknown }>('select $1::text::jsonb as e', [JSON.stringify(kept)]);
      expect(rows[0]?.e).toEqual(kept);
    }),
    { numRuns: 30 },
  );
});
