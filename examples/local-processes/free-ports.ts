import { createServer } from 'node:net';

const LAST_PORT = 65_535;

/** The first of `count` ports next to each other that nobody listens on, from `first` on. Whoever takes one in between is faster. */
export async function freePorts(first: number, count: number): Promise<number> {
  for (let from = first; from + count - 1 <= LAST_PORT; from += count) {
    const ports = Array.from({ length: count }, (_, n) => from + n);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return from;
  }
  throw new Error(`there are no ${count} free ports from ${first} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
