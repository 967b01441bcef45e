import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { RUNBOOKS } from './runbook-text.ts';

const MARKS = /(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`|\[[^\]]+\]\([^)]+\))/;

/** A paragraph of a runbook: strong, emphasised, code, and links to other parts. Links to other pages are only their words here. */
export function RunbookLine({ text }: { readonly text: string }): ReactElement {
  return (
    <p>
      {text.split(MARKS).map((part, i) => (
        // Parts of a text that never changes.
        <Part key={`${i} ${part}`} part={part} />
      ))}
    </p>
  );
}

function Part({ part }: { readonly part: string }): ReactElement {
  const [, words = '', target = ''] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
  const other = RUNBOOKS.find(({ alert }) => target === `#${alert.toLowerCase()}`);
  if (other !== undefined) {
    return (
      <Link to="/runbooks/$alert" params={{ alert: other.alert }}>
        {words}
      </Link>
    );
  }
  if (words !== '') return <>{words.replaceAll('`', '')}</>;
  if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>;
  if (part.startsWith('*')) return <em>{part.slice(1, -1)}</em>;
  if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
  return <>{part}</>;
}
