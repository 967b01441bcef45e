import { useSyncExternalStore } from 'react';

// One timer for all times of the page; it stands still when nothing shows a time.
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const one of listeners) one();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time now, each second anew. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}
