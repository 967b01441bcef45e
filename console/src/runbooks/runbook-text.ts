import page from '../../../docs/runbooks/alerts.md?raw';

/** One part of the runbook. */
export interface Runbook {
  readonly alert: string;
  /** What the alert means, in words. */
  readonly meaning: string;
  readonly blocks: readonly RunbookBlock[];
}

/** A paragraph, or lines to type. */
interface RunbookBlock {
  readonly kind: 'text' | 'code';
  readonly text: string;
}

/** All parts of docs/runbooks/alerts.md, in their order. They come with the console: somebody on call may have nothing else. */
export const RUNBOOKS: readonly Runbook[] = page
  .split(/^## /m)
  .slice(1)
  .map((part) => {
    const [alert = '', ...lines] = part.trim().split('\n');
    const blocks = blocksOf(lines.join('\n'));
    const meaning = (blocks[0]?.text ?? '').replace(/^\*\*Means\.\*\* /, '');
    return { alert, meaning, blocks };
  });

function blocksOf(markdown: string): readonly RunbookBlock[] {
  return markdown.split(/^(```sh\n[^]*?^```)$/m).flatMap((part): RunbookBlock[] =>
    part.startsWith('```')
      ? [{ kind: 'code', text: part.replace(/^```sh\n|\n```$/g, '') }]
      : part
          .split(/\n{2,}/)
          .map((text) => text.trim().replaceAll('\n', ' '))
          .filter((text) => text !== '')
          .map((text) => ({ kind: 'text', text })),
  );
}
