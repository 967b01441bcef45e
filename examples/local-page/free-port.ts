import { numberSetting } from './number-setting.ts';

/** No port to listen on; the message says which, and why. */
class PortError extends Error {}

const FIRST_PORT = 3_000;
// Far enough for a machine full of dev servers, near enough to be found again.
const PORTS_TO_TRY = 20;

/** The port that `PORT` asks for, if it asks for one. */
export function askedPort(): number | undefined {
  return numberSetting('PORT', /^\d+$/, [0, 65_535], 'a whole number');
}

/**
 * Takes the port that was asked for and no other; if none was, the first free one from 3000 on. Where there is none, says so, calls
 * `onNone` and ends the process.
 */
export async function startOnAskedPort<T>(
  asked: number | undefined,
  start: (port: number) => Promise<T>,
  onNone: () => Promise<void> = async () => undefined,
): Promise<T> {
  try {
    const which = { first: asked ?? FIRST_PORT, tries: asked === undefined ? PORTS_TO_TRY : 1 };
    const { port, value } = await startOnPort(which, start);
    if (asked === undefined && port !== FIRST_PORT) console.log(`Port ${FIRST_PORT} is taken; using ${port}.`);
    return value;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    console.error(`${error.message}; choose another with PORT=8080 npm start.`);
    await onNone();
    process.exit(1);
  }
}

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
