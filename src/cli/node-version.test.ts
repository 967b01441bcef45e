import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tooOldNode } from './node-version.ts';

test('a Node below what the package asks for is told so, and no other [X.19]', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  expect(engines.node).toContain('22.12');
  for (const old of ['v20.20.2', 'v22.11.0', 'v18.0.0']) expect(tooOldNode(old)).toMatch(/use Node 22\.12 or newer/);
  for (const fine of ['v22.12.0', 'v24.0.0', 'v25.1.0-nightly']) expect(tooOldNode(fine)).toBeUndefined();
});
