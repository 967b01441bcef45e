import type { NodeResponse } from './node-response.ts';

/** Whether somebody still reads a response. */
export interface Client {
  /** Nobody does: what is written now is for the record only. */
  readonly isGone: boolean;
  /** The response needs to live no longer. Whoever waits for its `close` is told now, if it was held back. */
  letGo(): void;
}

/**
 * Lets a response outlive its client. Streams that are piped into a response stop for ever when it closes, and a handler that waits
 * for `drain` waits for ever; then nothing would end the run, and its key would count as running until the run's time is up. So
 * `close` is held back until `letGo`, and whoever waits for `drain` goes on.
 */
export function outliveClient(res: NodeResponse, onGone: () => void): Client {
  const emit = res.emit.bind(res);
  let isGone = false;
  let isLetGo = false;
  res.emit = (event, ...args) => {
    // One of HTTP/2 says `finish` first, although nobody has ended it.
    if ((event !== 'close' && event !== 'finish') || isLetGo) return emit(event, ...args);
    if (!isGone) {
      isGone = true;
      // Frameworks look at these before they begin to send.
      looks(res, 'open');
      queueMicrotask(() => emit('drain'));
      onGone();
    }
    return true;
  };
  return {
    get isGone() {
      return isGone;
    },
    letGo: () => {
      if (isLetGo) return;
      isLetGo = true;
      if (!isGone) return;
      looks(res, 'closed');
      queueMicrotask(() => emit('close'));
    },
  };
}

/** Where these cannot be set, nobody looks at them. */
function looks(res: NodeResponse, how: 'open' | 'closed'): void {
  for (const name of ['destroyed', '_closed']) Reflect.set(res, name, how === 'closed');
}
