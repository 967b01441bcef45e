import { createContext, type ReactElement, type ReactNode, useCallback, useContext, useState } from 'react';
import { Icon } from '../parts/icon.tsx';

/** What is told at the edge of the page for a while. */
export interface Toast {
  readonly text: string;
  readonly isError?: boolean;
  /** Takes back what was done, or leads to what came of it. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

const ToastContext = createContext<(toast: Toast) => void>(() => {});

/** Tells something for a while. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

const SHOWN_MS = 8_000;
let last = 0;

export function Toasts({ children }: { readonly children: ReactNode }): ReactElement {
  const [toasts, setToasts] = useState<readonly (Toast & { readonly id: number })[]>([]);
  const drop = (id: number): void => setToasts((all) => all.filter((one) => one.id !== id));
  const show = useCallback((toast: Toast) => {
    last += 1;
    const id = last;
    setToasts((all) => [...all.slice(-3), { ...toast, id }]);
    // An error stays until it is read.
    if (toast.isError !== true) setTimeout(() => drop(id), SHOWN_MS);
  }, []);
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, isError, action }) => (
          <div key={id} className={isError === true ? 'toast bad' : 'toast'}>
            <span>{text}</span>
            {action === undefined ? null : (
              <button
                type="button"
                onClick={() => {
                  drop(id);
                  action.run();
                }}
              >
                {action.label}
              </button>
            )}
            <button type="button" className="quiet square" aria-label="Dismiss" onClick={() => drop(id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
