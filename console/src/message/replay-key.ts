import { useEffect } from 'react';
import { isTyping } from '../parts/row-keys.ts';

/** `r` replays what the page shows. */
export function useReplayKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'r' || isTyping(event)) return;
      document.querySelector<HTMLButtonElement>('[data-act=replay]')?.click();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
