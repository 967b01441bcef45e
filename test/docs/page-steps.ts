/** What a reader of a page does, one after the other. */
export type PageStep =
  /** Types the commands and sees the output, if the page shows one. */
  | { readonly kind: 'run'; readonly line: number; readonly code: string; readonly output: string | undefined }
  /** Saves the block under the name in its first line. */
  | { readonly kind: 'save'; readonly line: number; readonly file: string; readonly code: string }
  /** Starts a program in a terminal of its own. */
  | { readonly kind: 'start'; readonly line: number; readonly terminal: string; readonly code: string }
  /** Sees this in that terminal. */
  | { readonly kind: 'see'; readonly line: number; readonly terminal: string; readonly output: string }
  /** Presses Ctrl-C there. */
  | { readonly kind: 'stop'; readonly line: number; readonly terminal: string };

const PART = /^```(\w+)([^\n]*)\n([^]*?)^```$|^<!-- stop (\S+) -->$/gm;
const NAMED = /^\/\/ (\S+\.ts)\n/;

/**
 * The steps of a page: blocks marked `sh run`, `sh terminal-1`, `text`, `text terminal-1`, `ts` with a file's name in the first line, and
 * comments `<!-- stop terminal-1 -->`. A block that is none of these is an error: nobody would notice when it stops being true.
 */
export function stepsOf(markdown: string): PageStep[] {
  const steps: PageStep[] = [];
  for (const match of markdown.matchAll(PART)) {
    const [, language, rest = '', code = '', stopped] = match;
    const line = markdown.slice(0, match.index).split('\n').length;
    const mark = rest.trim();
    const last = steps.at(-1);
    const file = language === 'ts' && mark === '' ? NAMED.exec(code)?.[1] : undefined;
    if (stopped !== undefined) steps.push({ kind: 'stop', line, terminal: stopped });
    else if (file !== undefined) steps.push({ kind: 'save', line, file, code });
    else if (language === 'sh' && mark === 'run') steps.push({ kind: 'run', line, code, output: undefined });
    else if (language === 'sh' && mark !== '') steps.push({ kind: 'start', line, terminal: mark, code });
    else if (language === 'text' && mark !== '') steps.push({ kind: 'see', line, terminal: mark, output: code });
    else if (language === 'text' && last?.kind === 'run' && last.output === undefined) {
      steps[steps.length - 1] = { ...last, output: code };
    } else throw new Error(`line ${line}: nobody can say what to do with this block`);
  }
  return steps;
}

/** What the page shows, as a pattern: `…` stands for anything within a line. */
export function patternOf(output: string): RegExp {
  const escaped = output.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(escaped.replaceAll('…', '[^\\n]*'));
}
