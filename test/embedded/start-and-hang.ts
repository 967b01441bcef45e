// node start-and-hang.ts <data directory>: starts the package's PostgreSQL, prints its address and process id, and waits to be told
// how to end: "exit" on standard input ends the process without stopping the server, "stop" stops it first.
import { createInterface } from 'node:readline';
import { embeddedPostgres } from '../../src/embedded/index.ts';

const server = await embeddedPostgres({ dataDir: process.argv[2] ?? '', sources: ['package'] });
console.log(JSON.stringify({ url: server.url, pid: server.pid }));
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'stop') await server.stop();
  process.exit(0);
}
