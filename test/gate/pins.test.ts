import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';

const PAGE = readFileSync(join(ROOT, 'docs', 'dependencies.md'), 'utf8');

test('each action of a workflow is pinned by its commit, with the version beside it', () => {
  const folder = join(ROOT, '.github', 'workflows');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const used = [...texts.join('\n').matchAll(/\buses: (.+)/g)];
  expect(used.length).toBeGreaterThan(3);
  for (const [, action] of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('the image is built from one full version of Node and of pg, which the page of dependencies names', () => {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const bases = new Set([...text.matchAll(/^FROM (\S+)/gm)].map(([, base = '']) => base));
  const clients = new Set([...text.matchAll(/\bpg@\S+/g)].map(([name]) => name));
  expect([...bases, ...clients]).toEqual([
    expect.stringMatching(/^node:\d+\.\d+\.\d+-/),
    expect.stringMatching(/^pg@\d+\.\d+\.\d+$/),
  ]);
  for (const name of [...bases, ...clients]) expect(PAGE).toContain(`\`${name}\``);
});

test('the page of dependencies names each image of compose.yaml', () => {
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
  const images = [...text.matchAll(/^ +image: (\S+)/gm)].map(([, image = '']) => image);
  // Those with a full version are named without it.
  for (const image of images) expect(PAGE).toContain(`\`${image.replace(/:v?\d+\.\d+\.\d+$/, '')}\``);
});
