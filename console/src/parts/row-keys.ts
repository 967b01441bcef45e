import { useEffect, useRef, useState } from 'react';

/** What keys do to the current row of a list. */
export interface RowKeys {
  readonly open?: (id: string) => void;
  readonly toggle?: (id: string) => void;
  readonly replay?: (id: string) => void;
}

/** True while keys belong to a field or a dialog. */
export function isTyping(event: KeyboardEvent): boolean {
  const at = event.target as Element | null;
  const isField = at?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') !== null;
  return isField || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]') !== null;
}

/** `j` and `k` move, `Enter` or `o` opens, `x` selects, `r` replays. Answers the row that is current. */
export function useRowKeys(ids: readonly string[], keys: RowKeys): string | undefined {
  const [current, setCurrent] = useState<string>();
  const now = useRef({ ids, keys, current });
  now.current = { ids, keys, current };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event)) return;
      const { ids: all, keys: acts, current: id } = now.current;
      const at = id === undefined ? -1 : all.indexOf(id);
      if (event.key === 'j' || event.key === 'k') {
        const next = all[Math.min(all.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))];
        setCurrent(next);
        document.querySelector(`[data-row="${CSS.escape(next ?? '')}"]`)?.scrollIntoView({ block: 'nearest' });
        return;
      }
      if (at < 0 || id === undefined) return;
      const isOnControl = (event.target as Element).closest('a, button') !== null;
      if (event.key === 'o' || (event.key === 'Enter' && !isOnControl)) acts.open?.(id);
      if (event.key === 'x') acts.toggle?.(id);
      if (event.key === 'r') acts.replay?.(id);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return current;
}
