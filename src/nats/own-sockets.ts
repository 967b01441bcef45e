import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const MADE = 'net.client.socket';
const opening = new AsyncLocalStorage<Set<Socket>>();

/** What is being opened, and how its sockets are cut. */
export interface Opening<T> {
  readonly opened: Promise<T>;
  readonly cut: () => void;
}

/**
 * Opens something by a library that does not give its sockets away. The client of NATS (3.4) keeps a socket open for ever on which a server
 * said nothing at all: closing is for connections that were made. Node tells of each socket that is made, and in whose name.
 */
export function openBySockets<T>(open: () => Promise<T>): Opening<T> {
  const sockets = new Set<Socket>();
  const note = (told: unknown): void => {
    if (opening.getStore() === sockets) sockets.add((told as { readonly socket: Socket }).socket);
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  subscribe(MADE, note);
  const opened = opening.run(sockets, open);
  opened
    .catch(cut)
    .finally(() => unsubscribe(MADE, note))
    .catch(() => undefined);
  return { opened, cut };
}
