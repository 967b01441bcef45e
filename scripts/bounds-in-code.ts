import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A number in the code that bounds something. */
export interface Bound {
  readonly path: string;
  readonly name: string;
  readonly value: number;
}

/** Names of constants that bound something. What is a least or a form of something else is none. */
const BOUND =
  /^(?:export )?const ((?:[A-Z0-9]+_)*(?:MAX|MOST|LONGEST|LARGEST|LIMIT)(?:_[A-Z0-9]+)*)(?:: number)? = ([\d_.* ]+);/gm;
const CONSTANT = /^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: number)? = ([\d_.* ]+);/gm;
const FIELD = /^ {2}(\w+): ([\d_.* ]+),$/gm;

/** Every constant in the product whose name says that it bounds something. */
export function boundsInCode(root: string): readonly Bound[] {
  return globSync('src/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => numbersIn(root, path.replaceAll('\\', '/'), BOUND))
    .toSorted((a, b) => (`${a.path} ${a.name}` < `${b.path} ${b.name}` ? -1 : 1));
}

/** The number that a file gives a constant, or a field of one of its objects: `NAME`, `field`. */
export function numberIn(root: string, path: string, name: string): number | undefined {
  const found = [...numbersIn(root, path, CONSTANT), ...numbersIn(root, path, FIELD)];
  return found.find((one) => one.name === name)?.value;
}

function numbersIn(root: string, path: string, pattern: RegExp): readonly Bound[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(pattern)].map(([, name = '', product = '']) => ({ path, name, value: valueOf(product) }));
}

/** `7 * 86_400_000` as a number. */
function valueOf(product: string): number {
  return product.split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '').trim()), 1);
}
