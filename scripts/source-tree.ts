import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vitest/node';

/** A TypeScript file with its syntax tree. */
export interface SourceFile {
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: SyntaxNode;
}

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** Reads every TypeScript file that fits the patterns. None at all is an error: a check that sees no file proves nothing. */
export function readSources(root: string, ...patterns: string[]): SourceFile[] {
  const paths = globSync(patterns, { cwd: root }).toSorted();
  if (paths.length === 0) throw new Error(`no file below ${root} fits ${patterns.join(', ')}`);
  return paths.map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path: path.replaceAll('\\', '/'), text, tree: parseAst(text, { lang: 'ts' }) as unknown as SyntaxNode };
  });
}

/** Calls `visit` for each node of the tree, outermost first, with the node around it. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, around?: SyntaxNode) => void,
  around?: SyntaxNode,
): void {
  visit(node, around);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child)) walk(child, visit, node);
    }
  }
}

/** `path:line` of a node, as editors open it. */
export function placeOf(file: SourceFile, node: SyntaxNode): string {
  return `${file.path}:${file.text.slice(0, node.start).split('\n').length}`;
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}
