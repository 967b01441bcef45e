/** No port to listen on; the message says which, and why. */
export class PortError extends Error {}

/**
 * Calls `start` with `first`, then with the next port for as long as they are taken, `tries` times at most. Throws
 * `PortError` when none was free; any other error of `start` as it is.
 */
export async function startOnPort<T>(
  { first, tries }: { readonly first: number; readonly tries: number },
  start: (port: number) => Promise<T>,
): Promise<{ readonly port: number; readonly value: T }> {
  const last = Math.min(first + tries - 1, 65_535);
  let problem = '';
  for (let port = first; port <= last; port++) {
    try {
      return { port, value: await start(port) };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
      problem = code === 'EACCES' ? 'may not be used by this user' : 'is taken';
    }
  }
  throw new PortError(first === last ? `Port ${first} ${problem}` : `No free port from ${first} to ${last}`);
}
