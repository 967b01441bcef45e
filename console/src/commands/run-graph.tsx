import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { duration } from '../parts/span-of-time.ts';
import { StateMark, toneOf } from '../parts/state-mark.tsx';
import type { Command } from './commands-page.tsx';

/** Modules in the order they were asked for, which is the one they run in; what was asked of one again stands below it. */
function columnsOf(commands: readonly Command[]): readonly (readonly Command[])[] {
  const inOrder = commands.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  return [...Map.groupBy(inOrder, ({ name, module }) => `${name} ${module}`).values()];
}

/** The modules of one run, from left to right as they followed each other. */
export function RunGraph({ commands }: { readonly commands: readonly Command[] }): ReactElement {
  return (
    <section className="block" aria-label="The run">
      <h2>The run</h2>
      <ol className="run-graph">
        {columnsOf(commands).map((column) => (
          <li key={column[0]?.id}>
            {column.map((command) => (
              <ModuleBox key={command.id} command={command} />
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

function ModuleBox({ command }: { readonly command: Command }): ReactElement {
  const { id, name, module, state, attempts, createdAt, closedAt } = command;
  const took = closedAt === undefined ? undefined : Date.parse(closedAt) - Date.parse(createdAt);
  return (
    <Link to="/messages/$id" params={{ id }} className={`module tone-${toneOf(state)}`}>
      <strong>{module === name ? name : module}</strong>
      <StateMark state={state} />
      <span className="muted">
        {attempts > 1 ? `${attempts} attempts` : ''} {took === undefined ? '' : duration(took)}
      </span>
    </Link>
  );
}
