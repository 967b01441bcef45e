import { COMMANDS } from '../../src/cli/all-commands.ts';
import { parseLine } from '../../src/cli/parse-line.ts';

/** A command line that a page tells its reader to type. */
export interface DocumentedCommand {
  /** `page:line`. */
  readonly place: string;
  /** Without `holdfast`, as the shell would hand it over; what stands in angle brackets is left as it is. */
  readonly argv: readonly string[];
}

const BLOCK = /^([ \t]*)```(?:sh|console)\b[^\n]*\n([^]*?)^\1```$/gm;
const INLINE = /`(?:npx )?holdfast ([^`\n]+)`/g;
const CALL = /(?:^\s*|[|;&(] ?|npx )holdfast (\S.*)$/;

/** Every `holdfast …` of a page: lines of shell blocks, and code within sentences that has more than a name in it. */
export function documentedCommands(page: string, markdown: string): DocumentedCommand[] {
  const found: DocumentedCommand[] = [];
  const lineAt = (index: number): number => markdown.slice(0, index).split('\n').length;
  for (const match of markdown.matchAll(BLOCK)) {
    const [whole, , code = ''] = match;
    const isConsole = /```console/.test(whole.split('\n', 1)[0] ?? '');
    code.split('\n').forEach((text, i) => {
      if (isConsole && !text.startsWith('$ ')) return;
      const call = CALL.exec(withoutComment(text).replace(/^\$ /, ''))?.[1];
      if (call !== undefined) found.push({ place: `${page}:${lineAt(match.index) + i + 1}`, argv: wordsOf(call) });
    });
  }
  const prose = markdown.replaceAll(BLOCK, (block) => block.replaceAll(/[^\n]/g, ' '));
  for (const match of prose.matchAll(INLINE)) {
    // `holdfast/http` is an import, `holdfast()` a call; `holdfast handlers` alone names a command.
    found.push({ place: `${page}:${lineAt(match.index)}`, argv: wordsOf(match[1] ?? '') });
  }
  return found.filter(({ argv }) => argv.length > 0);
}

/** What the program would say to it; nothing where it would begin to work. */
export function problemOf({ place, argv }: DocumentedCommand): string | undefined {
  if (/^<.*>$/.test(argv[0] ?? '')) return undefined; // `holdfast <command>`: any of them
  const meant = argv.filter((word, i) => word !== '…' || argv[i - 1]?.startsWith('--') === true);
  // A name alone speaks of the command.
  if (meant.length === 1 && COMMANDS.some(({ name }) => name === meant[0])) return undefined;
  try {
    const { command, args } = parseLine(meant, COMMANDS);
    const [verb] = args;
    if (command?.verbs !== undefined && verb !== undefined && !command.verbs.includes(verb) && args.length > 1) {
      return `${place}: ${command.name} has no verb ${verb}`;
    }
    return undefined;
  } catch (error) {
    return `${place}: ${(error as Error).message}`;
  }
}

function withoutComment(text: string): string {
  return text.replace(/\s+#\s.*$|\s+#$/, '');
}

/** Words as a shell makes them, up to a pipe, a redirection or another command. */
function wordsOf(call: string): string[] {
  const words = [...call.matchAll(/(?:"[^"]*"|'[^']*'|<[^>\s]+>|[^\s"'])+/g)].map(([word]) => word);
  const end = words.findIndex(
    (word, i) => /^(\||\|\||&&|&|;|>>?|2>)/.test(word) || words[i - 1]?.endsWith(';') === true,
  );
  const own = end === -1 ? words : words.slice(0, end);
  return own.map((word) => word.replaceAll(/["']/g, '').replace(/[;)]$/, '')).filter((word) => word !== '');
}
