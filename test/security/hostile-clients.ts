import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection that says what it is given and reads nothing of what comes back. */
export interface HostileClient {
  readonly socket: Socket;
  /** It was closed by the server. */
  isClosed(): boolean;
}

/**
 * Opens one and says the text, and `drip` every 100 ms: whoever does not read sees only by writing that the other side is gone. Between
 * requests line breaks mean nothing. It ends with the test.
 */
export async function hostileClient(port: number, text: string, drip = '\r\n'): Promise<HostileClient> {
  const socket = connect(port, '127.0.0.1');
  // Nothing is ever read: the windows of both sides fill up.
  socket.pause();
  let isClosed = false;
  const close = (): void => void (isClosed = true);
  socket.on('error', close).on('close', close);
  await new Promise<void>((resolve) => {
    socket.once('connect', resolve).once('error', () => resolve());
  });
  socket.write(text);
  const timer = setInterval(() => socket.destroyed || socket.write(drip), 100);
  onTestFinished(() => {
    clearInterval(timer);
    socket.destroy();
  });
  return { socket, isClosed: () => isClosed || socket.destroyed };
}
