import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { ask } from '../api/client.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Modal } from '../parts/modal.tsx';
import { ErrorBox, Skeleton } from '../parts/notice.tsx';

/** The secrets that sign now, the newest first. They are forgotten when it is closed. */
export function SecretsDialog({ id, close }: { readonly id: string; readonly close: () => void }): ReactElement {
  const { data, error } = useQuery({
    queryKey: ['endpoint-secrets', id],
    queryFn: ({ signal }) =>
      ask<{ readonly item: readonly string[] }>(`delivery/endpoints/${encodeURIComponent(id)}/secrets`, {}, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  return (
    <Modal title="Secrets that sign now" close={close}>
      {data === undefined ? error === null ? <Skeleton rows={2} /> : <ErrorBox error={error} /> : null}
      {(data?.item ?? []).map((secret, at) => (
        <div key={secret}>
          <small className="muted">{at === 0 ? 'The newest' : 'Older, signs beside it for a while'}</small>
          <div className="command-line">
            <code>{secret}</code>
            <CopyButton text={secret} label="Copy the secret" />
          </div>
        </div>
      ))}
      <p className="muted">Whoever has it can send events in our name: give it to the receiver alone.</p>
      <footer>
        <button type="button" data-focus onClick={close}>
          Close
        </button>
      </footer>
    </Modal>
  );
}
