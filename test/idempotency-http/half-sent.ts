import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Stands in the middle of a reply of which only the half before it is to be sent. */
export const MIDDLE = '-- the middle --';

/**
 * From now on, what a server of this process sends ends for ever where `MIDDLE` begins; `onHalf` is called when the system has
 * taken all that comes before.
 */
export function sendHalf(onHalf: () => void): void {
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket };
    const write = socket.write.bind(socket);
    let isHalf = false;
    socket.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      if (isHalf) return true;
      const bytes = Buffer.from(chunk as Uint8Array);
      const middle = bytes.indexOf(MIDDLE);
      if (middle < 0) return write(chunk, ...(rest as []));
      isHalf = true;
      return write(bytes.subarray(0, middle), onHalf);
    };
  });
}
