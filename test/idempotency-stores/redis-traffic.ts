import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** Every command clients have sent to a server from now on. */
export interface Traffic {
  /** The names of the commands since the last time, in order. What scripts do inside the server is not traffic. */
  taken(): Promise<readonly string[]>;
}

/** A line of MONITOR: who sent it, the command and its first argument. */
const LINE = /^\+[\d.]+ \[\d+ (?<source>[^\]]+)\] "(?<name>[^"]*)"(?: "(?<first>[^"]*)")?/v;

/** Listens to a server by MONITOR until the test ends. By a bare socket: ioredis takes a command of others for the answer to its own when both come at once. */
export async function watchTraffic(url: string): Promise<Traffic> {
  const asking = new Redis(url);
  // What it asks the server on its own when it connects is not to be seen.
  await asking.ping();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => {
    socket.destroy();
    asking.disconnect();
  });
  const seen: string[] = [];
  const marks = new Map<string, () => void>();
  const lines = createInterface({ input: socket });
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  lines.on('line', (line) => {
    const { source, name = '', first = '' } = LINE.exec(line)?.groups ?? {};
    const mark = marks.get(first);
    if (mark !== undefined) mark();
    else if (source !== 'lua') seen.push(name.toLowerCase());
  });
  return {
    async taken() {
      const mark = randomUUID();
      const isSeen = new Promise<void>((resolve) => marks.set(mark, resolve));
      await asking.echo(mark);
      await isSeen;
      return seen.splice(0);
    },
  };
}
