import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { isTyping } from '../parts/row-keys.ts';
import { pagesOf } from './pages.ts';
import { useSession } from './session.tsx';

const SEQUENCE_MS = 1_000;

/** Keys that work on every page: ⌘K, `/`, `?`, and `g` with a page's letter. */
export function useShortcuts(show: (what: 'palette' | 'help') => void): void {
  const navigate = useNavigate();
  const { isDelivering } = useSession();
  useEffect(() => {
    let goMs = -Infinity;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        show('palette');
        return;
      }
      if (isTyping(event)) return;
      const page = pagesOf({ isDelivering })
        .flat()
        .find(({ key }) => key === event.key);
      if (page !== undefined && event.timeStamp - goMs < SEQUENCE_MS) {
        goMs = -Infinity;
        event.stopImmediatePropagation();
        void navigate({ to: page.to });
      } else if (event.key === 'g') goMs = event.timeStamp;
      else if (event.key === '?') show('help');
      else if (event.key === '/') {
        event.preventDefault();
        const box = document.querySelector<HTMLInputElement>('[data-search]');
        if (box === null) show('palette');
        else box.focus();
      }
    };
    // Before the keys of lists, so that `g k` does not move their row.
    document.addEventListener('keydown', onKey, { capture: true });
    return () => document.removeEventListener('keydown', onKey, { capture: true });
  }, [navigate, show, isDelivering]);
}
