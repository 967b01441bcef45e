import { describe, expect } from 'vitest';
import { natsBroker } from '../../src/nats/nats.ts';
import { transportContract } from '../../src/testing/index.ts';
import { needs } from '../support/needs.ts';

const test = needs('nats');
// What the server takes unless it is told otherwise.
const LARGEST = 1_048_576;

describe('NATS', () => {
  let prefixes = 0;
  for (const { name, run } of transportContract()) {
    test(`${name} [S0.8] [S1.5]`, async ({ nats: { url, namespace } }) => {
      const prefix = `${namespace}-${(prefixes += 1)}-`;
      const harness = { open: () => natsBroker({ servers: url, prefix }), tooLarge: LARGEST + 1 };
      await expect(run(harness)).resolves.toBeUndefined();
    });
  }
});
