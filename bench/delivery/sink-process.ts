// node sink-process.ts <ports>
//
// The destination of the bench, in a process of its own: answers every request with a short 200 and counts. It reads sockets by hand,
// because Node's HTTP server would take longer for a request than what is measured. Tells its ports, and what it has counted when asked.
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** What arrived since it was asked to begin, with the times of the first and the last. */
export interface Arrivals {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok';
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = /^content-length: *(\d+)/im;

let arrivals: Arrivals = { count: 0, firstMs: 0, lastMs: 0 };

/** How many requests are whole in what came, and what is left. */
function readRequests(bytes: Buffer): readonly [requests: number, rest: Buffer] {
  let requests = 0;
  for (let rest = bytes; ;) {
    const head = rest.indexOf(END_OF_HEAD);
    if (head === -1) return [requests, rest];
    const length = Number(LENGTH.exec(rest.toString('latin1', 0, head))?.[1] ?? 0);
    const end = head + END_OF_HEAD.length + length;
    if (rest.length < end) return [requests, rest];
    rest = rest.subarray(end);
    requests += 1;
  }
}

function serve(socket: Socket): void {
  let waiting: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    const [requests, rest] = readRequests(waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]));
    waiting = rest;
    if (requests === 0) return;
    const nowMs = Date.now();
    const { count, firstMs } = arrivals;
    arrivals = { count: count + requests, firstMs: count === 0 ? nowMs : firstMs, lastMs: nowMs };
    socket.write(ANSWER.repeat(requests));
  });
}

const ports = await Promise.all(
  Array.from({ length: Number(process.argv[2] ?? 1) }, async () => {
    const server = createServer(serve);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }),
);

process.on('message', (asked) => {
  if (asked === 'begin') arrivals = { count: 0, firstMs: 0, lastMs: 0 };
  process.send?.(arrivals);
});
process.on('disconnect', () => process.exit());
process.send?.(ports);
