import { isNode, isTest, placeOf, walk, type SourceFile, type SyntaxNode } from '../../scripts/source-tree.ts';

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'performance'];

/**
 * Uses of the clock, of timers and of chance in product files that do not lie in src/system. Everyone else is handed them, so
 * that tests own time and luck. `exceptions` maps a file to why it may.
 */
export function outsideEffects(files: readonly SourceFile[], exceptions: Readonly<Record<string, string>>): string[] {
  const problems: string[] = [];
  const used = new Set<string>();
  for (const file of files) {
    if (isTest(file.path) || file.path.startsWith('src/system/')) continue;
    walk(file.tree, (node, around) => {
      const what = effectOf(node, around);
      if (what === undefined) return;
      if (exceptions[file.path] === undefined) problems.push(`${placeOf(file, node)}: uses ${what}`);
      else used.add(file.path);
    });
  }
  for (const path of Object.keys(exceptions)) {
    if (!used.has(path)) problems.push(`${path}: is an exception that is not needed any more`);
  }
  return problems;
}

function effectOf(node: SyntaxNode, around: SyntaxNode | undefined): string | undefined {
  if (node.type === 'MemberExpression') {
    const name = `${nameOf(node['object'])}.${nameOf(node['property'])}`;
    if (name === 'Date.now' || name === 'Math.random') return name;
    return name.startsWith('globalThis.') && TIMERS.includes(nameOf(node['property'])) ? name : undefined;
  }
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    // With an argument a Date is a value; without one, or called as a function, it is a look at the clock.
    const looks = node.type === 'CallExpression' || (node['arguments'] as unknown[]).length === 0;
    return nameOf(node['callee']) === 'Date' && looks ? 'the current Date' : undefined;
  }
  if (node.type !== 'Identifier' || !TIMERS.includes(nameOf(node))) return undefined;
  const isName =
    around !== undefined && (around['property'] === node || around['key'] === node) && around['computed'] !== true;
  return isName ? undefined : nameOf(node);
}

function nameOf(value: unknown): string {
  return isNode(value) && typeof value['name'] === 'string' ? value['name'] : '';
}
