import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { shortId } from './figures.ts';

/** Leads to a message's page. Without a text: its short id. */
export function MessageLink({ id, text }: { readonly id: string; readonly text?: string | undefined }): ReactElement {
  return (
    <Link to="/messages/$id" params={{ id }} className={text === undefined ? 'mono' : ''} title={id}>
      <bdi>{text ?? shortId(id)}</bdi>
    </Link>
  );
}
