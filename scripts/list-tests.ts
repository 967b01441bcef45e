import { isNode, readSources, walk, type SourceFile, type SyntaxNode } from './source-tree.ts';

/** A test as it stands in its file. */
export interface ListedTest {
  /** Relative to the root. */
  readonly file: string;
  /** The titles around it and its own, joined by ` > `. What a table or a template fills in stands as `%s` or `…`. */
  readonly title: string;
}

/** Every test below `root`, read from the sources without running them; also those in functions that several test files share. */
export function listTests(root: string): ListedTest[] {
  const files = readSources(root, '{src,test,examples,bench}/**/*.ts');
  const tests = files.flatMap(testsIn);
  if (tests.length === 0) throw new Error(`there is no test in ${root}`);
  return tests;
}

/** The tests of one file, in their order. */
export function testsIn(file: SourceFile): ListedTest[] {
  const found: ListedTest[] = [];
  const names = testNames(file.tree);
  const around = new Map<SyntaxNode, string>();
  walk(file.tree, (node, parent) => {
    const outer = parent === undefined ? '' : (around.get(parent) ?? '');
    const [kind, title] = titleOf(node, names) ?? [undefined, ''];
    if (kind === 'test') found.push({ file: file.path, title: `${outer}${title}` });
    around.set(node, kind === 'suite' ? `${outer}${title} > ` : outer);
  });
  return found;
}

/** What a file calls to define a test: `test`, `it`, what it imports them as, and what it makes of them or of `needs(…)`. */
function testNames(tree: SyntaxNode): ReadonlySet<string> {
  const names = new Set(['test', 'it', 'needs']);
  walk(tree, (node) => {
    if (node.type === 'ImportSpecifier' && names.has(nameOf(node['imported']))) names.add(nameOf(node['local']));
    const made = node.type === 'VariableDeclarator' ? rootName(node['init']) : undefined;
    if (made !== undefined && names.has(made)) names.add(nameOf(node['id']));
  });
  return names;
}

function nameOf(value: unknown): string {
  return isNode(value) && value.type === 'Identifier' ? (value['name'] as string) : '';
}

function titleOf(node: SyntaxNode, names: ReadonlySet<string>): [kind: 'test' | 'suite', title: string] | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const [first, ...rest] = node['arguments'] as unknown[];
  // Names servers; what it returns defines the test.
  if (nameOf(node['callee']) === 'needs') return undefined;
  const name = rootName(node['callee']);
  const title = textOf(first);
  if (title === undefined || rest.length === 0) return undefined;
  if (name === 'describe') return ['suite', title];
  return name !== undefined && names.has(name) ? ['test', title] : undefined;
}

/** `test` for `test`, `test.skip`, `test.each(table)` and test.each`table`; `needs` for `needs('redis')`. */
function rootName(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === 'Identifier') return value['name'] as string;
  return rootName(value['object'] ?? value['callee'] ?? value['tag']);
}

function textOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === 'Literal') return typeof value['value'] === 'string' ? value['value'] : undefined;
  if (value.type !== 'TemplateLiteral') return undefined;
  return (value['quasis'] as { value: { cooked: string } }[]).map((part) => part.value.cooked).join('…');
}
