import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';

/** Every command clients have sent to a server from now on. */
export interface Traffic {
  /** The names of the commands since the last time, in order. What scripts do inside the server is not traffic. */
  taken(): Promise<readonly string[]>;
}

/** Listens to a server by MONITOR until the test ends. */
export async function watchTraffic(url: string): Promise<Traffic> {
  const asking = new Redis(url);
  const monitor = await asking.monitor();
  onTestFinished(() => {
    monitor.disconnect();
    asking.disconnect();
  });
  const seen: string[] = [];
  const marks = new Map<string, () => void>();
  monitor.on('monitor', (_time: string, [name = '', first = '']: string[], source: string) => {
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
