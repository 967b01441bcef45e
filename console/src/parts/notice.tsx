import type { ReactElement, ReactNode } from 'react';
import { Problem } from '../api/client.ts';
import { CommandLine } from './copy-button.tsx';

/** What would be here, and how it comes to be. */
export function Empty({
  title,
  children,
  command,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly command?: string | undefined;
}): ReactElement {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children === undefined ? null : <p>{children}</p>}
      {command === undefined ? null : <CommandLine command={command} />}
    </div>
  );
}

/** Code that makes something appear. */
export function TeachingCode({ code }: { readonly code: string }): ReactElement {
  return (
    <pre className="teaching" tabIndex={0}>
      <code>{code}</code>
    </pre>
  );
}

/** What went wrong, and the next step. */
export function ErrorBox({
  error,
  retry,
}: {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}): ReactElement {
  const problem = error instanceof Problem ? error : undefined;
  if (problem?.code === 'NOT_ON_MONGODB') {
    const { message } = problem;
    return <Empty title="Not on MongoDB">{`${message.charAt(0).toUpperCase()}${message.slice(1)}.`}</Empty>;
  }
  return (
    <div className="error-box" role="alert">
      <strong>{(error as Error).message}</strong>
      {problem?.next === undefined ? null : <p>{problem.next}</p>}
      {problem?.code === undefined ? null : <code>{problem.code}</code>}
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

const WIDTHS = ['w60', 'w80', 'w40', 'w70', 'w50'];

/** Where rows will be. */
export function Skeleton({ rows = 8 }: { readonly rows?: number }): ReactElement {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className={WIDTHS[at % WIDTHS.length]} />
      ))}
    </div>
  );
}
