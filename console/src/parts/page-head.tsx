import { type ReactElement, type ReactNode, useEffect } from 'react';

/** The title of a page, with what can be done there. It is the document's title too. */
export function PageHead({
  title,
  note,
  children,
  plain,
}: {
  readonly title: ReactNode;
  /** Of the document, where `title` is no text. */
  readonly plain?: string;
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}): ReactElement {
  const text = plain ?? (typeof title === 'string' ? title : 'Holdfast');
  useEffect(() => {
    document.title = `${text} · Holdfast`;
  }, [text]);
  return (
    <div className="page-head">
      <div>
        <h1>{title}</h1>
        {note === undefined ? null : <p className="muted">{note}</p>}
      </div>
      {children === undefined ? null : <div className="actions">{children}</div>}
    </div>
  );
}
