import { posix } from 'node:path';
import { isNode, isTest, placeOf, walk, type SourceFile, type SyntaxNode } from '../../scripts/source-tree.ts';

/** Folder of src/ → the folders its files may import besides their own. `.` is src/ itself, the root export. */
export type Directions = Readonly<Record<string, readonly string[]>>;

/** The rule of each folder, as the table of docs/architecture.md states it; the root export may show all that is not a subpath of its own. */
export function directionsIn(architecture: string): Directions {
  const rows = [...architecture.matchAll(/^\| `src\/([\w-]+)` \|.*\| ([^|]*) \|$/gm)];
  const rules = rows.map(([, folder = '', cell = '']) => [
    folder,
    [...cell.matchAll(/`([@\w/-]+)`/g)].map((name) => name[1] ?? ''),
  ]);
  return {
    ...(Object.fromEntries(rules) as Directions),
    '.': ['kernel', 'system', 'retry', 'outbox', 'relay', 'transport', 'service'],
  };
}

/**
 * Imports of src/ that go the wrong way, lead to a package or to Node, and folders without a rule. Tests may import what
 * they like; whatever else is outside src/ sees the package by its name only.
 */
export function wrongImports(files: readonly SourceFile[], directions: Directions): string[] {
  const problems: string[] = [];
  for (const file of files) {
    if (isTest(file.path)) continue;
    const isProduct = file.path.startsWith('src/');
    const from = folderOf(file.path);
    if (isProduct && directions[from] === undefined) problems.push(`${file.path}: src/${from} has no import rule`);
    for (const { specifier, node } of importsOf(file.tree)) {
      const target = posix.join(posix.dirname(file.path), specifier);
      const problem = isProduct
        ? problemInside(from, specifier, target, directions)
        : specifier.startsWith('.') && target.startsWith('src/') && 'imports src/ instead of the package by its name';
      if (typeof problem === 'string') problems.push(`${placeOf(file, node)}: ${problem} (${specifier})`);
    }
  }
  return problems;
}

function problemInside(from: string, specifier: string, target: string, directions: Directions): string | undefined {
  const allows = (name: string): boolean => directions[from]?.includes(name) === true;
  if (specifier.startsWith('node:')) {
    return allows('node') ? undefined : 'imports Node, but the package runs in browsers and at the edge too';
  }
  if (!specifier.startsWith('.')) {
    return allows(specifier) ? undefined : 'imports a package, but the product has no dependency';
  }
  if (!target.startsWith('src/')) return 'leaves src/';
  if (isTest(target)) return 'imports a test';
  const to = folderOf(target);
  if (to === from || directions[from]?.includes(to) === true) return undefined;
  return `src/${from} may not import src/${to}`;
}

function folderOf(path: string): string {
  const [, folder = '', rest] = path.split('/');
  return rest === undefined ? '.' : folder;
}

function importsOf(tree: SyntaxNode): { specifier: string; node: SyntaxNode }[] {
  const found: { specifier: string; node: SyntaxNode }[] = [];
  walk(tree, (node) => {
    // Import and export declarations, import(…), and import('…').Type all hold the specifier in `source`.
    const source = node['source'];
    if (isNode(source) && typeof source['value'] === 'string') found.push({ specifier: source['value'], node });
  });
  return found;
}
