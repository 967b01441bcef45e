// One listener for each signal, however many operations hang on it. EventTarget keeps listeners in a list and walks it to
// remove one, so a hundred thousand concurrent calls on one parent would cost their square; a set does not.
// AbortSignal.any is not used anywhere: on several Node versions its dependants are never released (nodejs/node#54614, #62363).
const links = new WeakMap<AbortSignal, { callbacks: Set<() => void>; onAbort: () => void }>();

/**
 * Calls `onAbort` once when the signal is aborted, unless unlinked before. The caller checks `signal.aborted` first: on a
 * signal that is already aborted nothing is linked and nothing called. Unlinking the last one takes the listener off.
 */
export function linkAbort(signal: AbortSignal, onAbort: () => void): () => void {
  if (signal.aborted) return () => undefined;
  let link = links.get(signal);
  if (!link) {
    const callbacks = new Set<() => void>();
    link = {
      callbacks,
      onAbort: () => {
        links.delete(signal);
        for (const callback of callbacks) callback();
      },
    };
    links.set(signal, link);
    signal.addEventListener('abort', link.onAbort, { once: true });
  }
  const { callbacks, onAbort: listener } = link;
  // A wrapper of its own, so that the same function may be linked twice.
  const callback = (): void => onAbort();
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0 || signal.aborted) return;
    links.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}
