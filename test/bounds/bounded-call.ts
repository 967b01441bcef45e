import type { SilentPeer } from './silent-peer.ts';

/** Where the real servers are, for calls that need a handshake before the silence. */
export interface RealServers {
  readonly postgres: string;
  readonly schema: string;
  readonly redis: string;
  readonly mongodb: string;
}

/** One call of the product to somebody who does not answer. */
export interface BoundedCall {
  /** As the table in docs/timeouts.md names it. */
  readonly call: string;
  /** Through which client, or at which moment. */
  readonly variant: string;
  /** What it must end with. */
  readonly ends: string;
  /** Makes the call, and gives what it ended with. `peer` never answers and is its own. */
  readonly run: (peer: SilentPeer) => Promise<string>;
  /** All connections are those of the application's driver, which looks after them itself. */
  readonly isDriversOwn?: boolean;
  /** Ends what is the application's own. What is open after that is ours, and must not be. */
  readonly end?: () => unknown;
}

/** What a call ended with: the code of its error, also of one that carries another, or `answered`. */
export async function endOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  const { code, cause, name, message } = error as { code?: unknown; cause?: unknown; name?: string; message?: string };
  if (code === 'RETRY_STOPPED' && cause !== undefined) return codeOf(cause);
  return typeof code === 'string' ? code : `${name ?? ''}: ${message ?? String(error)}`;
}
