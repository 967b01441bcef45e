import { Socket } from 'node:net';

/** Where a connection would go, `host:port` or the path of a socket, and the port on this machine where it goes instead. */
export type Detours = Readonly<Record<string, number>>;

/**
 * Sends connections of this process to these places through proxies instead, whichever client makes them: also those that a cluster names
 * to its clients. What is said over them stays as it is, so certificates fit the name that was asked for. For processes of a drill alone.
 */
export function takeDetours(detours: Detours): void {
  // Every client comes through this: net.connect, tls.connect and sockets that were made before.
  const connect = Reflect.get(Socket.prototype, 'connect') as (...args: unknown[]) => Socket;
  Socket.prototype.connect = function detour(this: Socket, ...args: unknown[]): Socket {
    const port = detours[placeOf(args)];
    return port === undefined ? connect.apply(this, args) : connect.apply(this, redirected(args, port));
  };
}

interface Wanted {
  readonly host?: string | undefined;
  readonly port?: number | string | undefined;
  readonly path?: string | undefined;
}

/** Where these arguments of `connect` lead to. */
function placeOf(args: readonly unknown[]): string {
  const { host = 'localhost', port, path } = wantedIn(args);
  return path ?? `${host}:${String(port)}`;
}

function wantedIn([first, second]: readonly unknown[]): Wanted {
  // Node's own functions pass on one list that they have sorted out: [options, callback].
  if (Array.isArray(first)) return first[0] as Wanted;
  if (typeof first === 'object' && first !== null) return first;
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { path: first };
  return { port: first as number, host: typeof second === 'string' ? second : undefined };
}

function redirected(args: readonly unknown[], port: number): unknown[] {
  const [first] = args;
  const there = { host: '127.0.0.1', port, path: undefined };
  if (Array.isArray(first)) {
    // Changed and not copied: the list carries a mark by which it is known.
    first[0] = { ...(first[0] as object), ...there };
    return [...args];
  }
  if (typeof first === 'object' && first !== null) return [{ ...first, ...there }, ...args.slice(1)];
  const callback = args.find((one) => typeof one === 'function');
  return [port, '127.0.0.1', ...(callback === undefined ? [] : [callback])];
}
