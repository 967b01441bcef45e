import { type ReactElement, type ReactNode, useEffect, useRef } from 'react';
import { Icon } from './icon.tsx';

/** A dialog in front of the page, or a sheet at its side. The browser keeps the focus inside and gives it back. */
export function Modal({
  title,
  close,
  children,
  kind = 'dialog',
}: {
  readonly title: string;
  readonly close: () => void;
  readonly children: ReactNode;
  readonly kind?: 'dialog' | 'sheet' | 'palette';
}): ReactElement {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    // The browser would begin with the button that closes it.
    dialog?.querySelector<HTMLElement>('[data-focus]')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      className={kind}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onMouseDown={(event) => {
        if (event.target === box.current) close();
      }}
    >
      {kind === 'palette' ? (
        children
      ) : (
        <div className="modal-body">
          <header>
            <h2>{title}</h2>
            <button type="button" className="quiet square" aria-label="Close" onClick={close}>
              <Icon name="close" />
            </button>
          </header>
          {children}
        </div>
      )}
    </dialog>
  );
}
