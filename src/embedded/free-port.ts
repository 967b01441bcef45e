import { type AddressInfo, createServer } from 'node:net';

/** The port itself if nobody listens on it on this machine, else any other that is free. */
export async function freePort(wanted: number | undefined): Promise<number> {
  const port = wanted === undefined ? undefined : await bind(wanted);
  return port ?? (await bind(0)) ?? 0;
}

function bind(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const { port: got } = server.address() as AddressInfo;
      server.close(() => resolve(got));
    });
  });
}
