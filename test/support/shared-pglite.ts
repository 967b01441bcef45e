import { PGlite } from '@electric-sql/pglite';

let pglite: Promise<PGlite> | undefined;

/**
 * One for all tests of a worker, which ends with it; each test takes a schema of its own there. To be asked for before the first test:
 * making it takes longer than a test should.
 */
export function sharedPglite(): Promise<PGlite> {
  return (pglite ??= PGlite.create());
}
