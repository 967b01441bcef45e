import { linkAbort } from '../kernel/abort-link.ts';

/** What the work comes to, or a rejection with the reason of the signal as soon as that is aborted. Leaves no listener behind. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const unlink = linkAbort(signal, () => reject(signal.reason));
    void work.then(resolve, reject).finally(unlink);
  });
}
