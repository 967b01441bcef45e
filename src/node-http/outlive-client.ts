import type { NodeResponse, ResponseFunctions } from './node-response.ts';

/**
 * Lets a response outlive its client. Streams that are piped into a response stop for ever when it closes, and a handler that waits
 * for `drain` waits for ever; then nothing would end the run, and its key would count as running until the run's time is up. So
 * `close` is held back until `letGo`, and a handler that waits for `drain` goes on. A client that left before the guard began, while
 * a hook looked up the user, is no different.
 */
export class Client {
  readonly #res: NodeResponse;
  /** As it was. */
  readonly #emit: ResponseFunctions['emit'];
  readonly #onGone: () => void;
  #isGone = false;
  #isLetGo = false;

  constructor(res: NodeResponse, emit: ResponseFunctions['emit'], onGone: () => void) {
    this.#res = res;
    this.#emit = emit;
    this.#onGone = onGone;
  }

  /** Looks whether the client left before there was anything that could notice it. */
  look(): void {
    if (isClosed(this.#res)) this.#leave();
  }

  /** Nobody reads the response any more: what is written now is for the record only. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** What the response does when it is told to emit. */
  onEmit(event: string, args: readonly unknown[]): boolean {
    // One of HTTP/2 says `finish` first, although nobody has ended it.
    if ((event !== 'close' && event !== 'finish') || this.#isLetGo) return this.#emit.call(this.#res, event, ...args);
    this.#leave();
    return true;
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    // Frameworks look at these before they begin to send.
    this.#looks('open');
    queueMicrotask(() => this.#emit.call(this.#res, 'drain'));
    this.#onGone();
  }

  /** The response needs to live no longer. Listeners of `close` get it now, if it was held back. */
  letGo(): void {
    if (this.#isLetGo) return;
    this.#isLetGo = true;
    if (!this.#isGone) return;
    this.#looks('closed');
    queueMicrotask(() => this.#emit.call(this.#res, 'close'));
  }

  /** Where these cannot be set, nobody looks at them. */
  #looks(how: 'open' | 'closed'): void {
    for (const name of ['destroyed', '_closed']) Reflect.set(this.#res, name, how === 'closed');
    // A file is not sent into a response whose socket is dead. HTTP/2 has a socket that is not its own.
    if ('stream' in this.#res) return;
    if (how === 'open') Object.defineProperty(this.#res, 'socket', { value: null, configurable: true, writable: true });
    else Reflect.deleteProperty(this.#res, 'socket');
  }
}

function isClosed(res: NodeResponse): boolean {
  const { destroyed, closed, stream } = res as { readonly destroyed?: boolean; closed?: boolean; stream?: object };
  const { destroyed: isGone, closed: isOver } = (stream ?? {}) as { readonly destroyed?: boolean; closed?: boolean };
  return [destroyed, closed, isGone, isOver].includes(true);
}
