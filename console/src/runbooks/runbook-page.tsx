import { Link, useParams } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Icon } from '../parts/icon.tsx';
import { Empty } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RunbookLine } from './runbook-line.tsx';
import { RUNBOOKS } from './runbook-text.ts';

/** What to do about one alert. */
export function RunbookPage(): ReactElement {
  const { alert = '' }: { alert?: string } = useParams({ strict: false });
  const runbook = RUNBOOKS.find((one) => one.alert.toLowerCase() === alert.toLowerCase());
  return (
    <>
      <Link to="/runbooks" className="back-link">
        <Icon name="back" /> Runbooks
      </Link>
      {runbook === undefined ? (
        <Empty title="There is no such runbook">The list has all that there are.</Empty>
      ) : (
        <>
          <PageHead title={runbook.alert} />
          <section className="block runbook">
            {runbook.blocks.map(({ kind, text }) =>
              kind === 'text' ? (
                <RunbookLine key={text} text={text} />
              ) : (
                <pre key={text} tabIndex={0} aria-label="Commands">
                  {text}
                </pre>
              ),
            )}
          </section>
        </>
      )}
    </>
  );
}
