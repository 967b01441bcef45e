import { type ReactElement, useState } from 'react';
import { Icon } from './icon.tsx';

/** Copies a text, and says so. `label` is what is copied: "Copy id". With `word` it is shown beside the drawing. */
export function CopyButton({
  text,
  label,
  word,
}: {
  readonly text: string;
  readonly label: string;
  readonly word?: string | undefined;
}): ReactElement {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      className={word === undefined ? 'quiet square' : 'quiet'}
      aria-label={word === undefined ? (isCopied ? 'Copied' : label) : undefined}
      title={isCopied ? 'Copied' : label}
      onClick={(event) => {
        event.stopPropagation();
        void copy();
      }}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
      {word === undefined ? null : isCopied ? 'Copied' : word}
    </button>
  );
}

/** A command to type, with its copy button. */
export function CommandLine({ command }: { readonly command: string }): ReactElement {
  return (
    <div className="command-line">
      <code>{command}</code>
      <CopyButton text={command} label="Copy the command" />
    </div>
  );
}
