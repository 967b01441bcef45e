/** A ```ts block of a Markdown page. */
export interface Snippet {
  /** `page:line`, where the block's first line of code is. */
  readonly place: string;
  /** True for ```ts run: it is executed. Others are only type-checked. */
  readonly runs: boolean;
  /** A program: what stands hidden before the block, then the block. */
  readonly code: string;
}

const BLOCK = /(?:<!-- before\n([^]*?)-->\s*\n)?^```ts([^\n]*)\n([^]*?)^```$/gm;

/**
 * The TypeScript blocks of a page. Lines the reader need not see, such as imports of the block above, stand in a comment right
 * before it: `<!-- before`, the lines, `-->`.
 */
export function snippetsOf(page: string, markdown: string): Snippet[] {
  return [...markdown.matchAll(BLOCK)].map((match) => {
    const [whole, before = '', mark = '', code = ''] = match;
    const line = markdown.slice(0, match.index + whole.indexOf('```ts')).split('\n').length + 1;
    if (mark !== '' && mark !== ' run')
      throw new Error(`${page}:${line - 1}: a block is marked \`\`\`ts or \`\`\`ts run, not \`\`\`ts${mark}`);
    return { place: `${page}:${line}`, runs: mark === ' run', code: `${before}${code}` };
  });
}

/** What the program must print, line by line: the texts after `// →`, in their order. Undefined if it says nothing about that. */
export function expectedOutput(code: string): string[] | undefined {
  const lines = [...code.matchAll(/\/\/ → (.+)$/gm)].map((match) => match[1]?.trimEnd() ?? '');
  return lines.length === 0 ? undefined : lines;
}
