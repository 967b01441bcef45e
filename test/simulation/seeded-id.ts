import { uuidV7 } from '../../src/kernel/uuid-v7.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The id of the n-th message. The same chance gives the same id. */
export function seededId(random: SeededRandom, n: number): string {
  const bytes = Uint8Array.from({ length: 10 }, () => random.int(0, 255));
  return uuidV7(Date.UTC(2026, 0, 1) + n, bytes);
}
