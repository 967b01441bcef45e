import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Answer } from '../api/wire.ts';
import { Icon } from '../parts/icon.tsx';
import { ATTENTION_RUNBOOKS } from '../runbooks/attention-runbooks.ts';

/** One sentence, and the things that need somebody: where to look, and what to do about it. */
export function Verdict({ overview }: { readonly overview: Answer<'overview'> }): ReactElement {
  const { verdict, attention } = overview;
  const isGood = attention.length === 0;
  return (
    <section className={isGood ? 'verdict good' : 'verdict bad'} aria-label="Verdict">
      <p className="verdict-text">
        <Icon name={isGood ? 'check' : 'dead'} />
        {verdict}
      </p>
      {isGood ? null : (
        <ul>
          {attention.map(({ kind, text, link }) => {
            const [path, query = ''] = link.split('?');
            return (
              <li key={`${kind} ${link} ${text}`}>
                <Link to={`/${path}`} search={Object.fromEntries(new URLSearchParams(query))}>
                  {text}
                  <Icon name="right" />
                </Link>
                <Link
                  to="/runbooks/$alert"
                  params={{ alert: ATTENTION_RUNBOOKS[kind] }}
                  className="what-to-do"
                  aria-label={`What to do: ${text}`}
                >
                  What to do
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}
