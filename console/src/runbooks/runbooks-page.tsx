import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { PageHead } from '../parts/page-head.tsx';
import { RunbookLine } from './runbook-line.tsx';
import { RUNBOOKS } from './runbook-text.ts';

/** What there is to do about each alert. */
export function RunbooksPage(): ReactElement {
  return (
    <>
      <PageHead title="Runbooks" note="What each alert means, where to look, what is safe to do, and when it is over" />
      <section className="block runbook">
        {RUNBOOKS.map(({ alert, meaning }) => (
          <div key={alert}>
            <h2>
              <Link to="/runbooks/$alert" params={{ alert }}>
                {alert}
              </Link>
            </h2>
            <RunbookLine text={meaning} />
          </div>
        ))}
      </section>
    </>
  );
}
