import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../scripts/run-tool.ts';

interface Locked {
  readonly license?: string;
  readonly hasInstallScript?: boolean;
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
const { dependencies, peerDependencies } = JSON.parse(read('package.json')) as {
  readonly dependencies?: object;
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const ALLOWED = new Set(
  'MIT ISC BSD-2-Clause BSD-3-Clause 0BSD Apache-2.0 MPL-2.0 BlueOak-1.0.0 Python-2.0 Unlicense CC0-1.0'.split(' '),
);

/** Of several a package can be had under, one is enough; of several that it has, all must do. */
function isAllowed(licence: string): boolean {
  const bare = licence.replaceAll(/[()]/g, '');
  if (bare.includes(' OR ')) return bare.split(' OR ').some((one) => ALLOWED.has(one));
  return bare.split(' AND ').every((one) => ALLOWED.has(one));
}

/** As packages said it before `license` was one word. */
function oldForm(place: string): string {
  const { licenses = [] } = JSON.parse(read(join(place, 'package.json'))) as { licenses?: readonly { type: string }[] };
  return licenses.map(({ type }) => type).join(' OR ') || 'none';
}

test('Every package that is installed for development may be used, by its licence [X.19]', () => {
  const installed = Object.entries(packages).filter(([place]) => place !== '');
  expect(installed.length).toBeGreaterThan(500);
  const licences = installed.map(([place, { license }]) => ({ place, licence: license ?? oldForm(place) }));
  expect(licences.filter(({ licence }) => !isAllowed(licence))).toEqual([]);
});

test('The package brings no other, and the page names every peer with its licence; none runs anything when installed [X.19]', () => {
  expect(dependencies).toBeUndefined();
  const page = read('docs/dependencies.md');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  expect(named.toSorted()).toEqual(Object.keys(peerDependencies).toSorted());
  for (const name of named) {
    const { license = '', hasInstallScript } = packages[`node_modules/${name}`] ?? {};
    expect(
      rows.find((row) => row.includes(`\`${name}\``)),
      name,
    ).toContain(license);
    expect(hasInstallScript, name).toBeUndefined();
  }
});
