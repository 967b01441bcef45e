// node queue-process.ts <queue> <database url>
//
// One of several processes that work off the same queue. Opens it, tells that it is ready, begins when it is told, and tells how many
// handlers have started.
import { once } from 'node:events';
import { poolOn } from './bench-database.ts';
import { SHARED, type SharedName } from './shared-queues.ts';

/** How many handlers have started, and when the first did, by the clock all processes share. */
export interface ShareReport {
  readonly started: number;
  readonly firstAtMs: number;
}

const REPORT_EVERY_MS = 20;
const [, , name = '', url = ''] = process.argv;
const admin = poolOn(url, 2);
const queue = await SHARED[name as SharedName]({ url, admin, close: () => admin.end() });
let started = 0;
let firstAtMs = 0;

process.once('message', () => void work());
// It was stopped, or the parent is gone.
process.once('disconnect', () => process.exit());
report();

async function work(): Promise<void> {
  const timer = setInterval(report, REPORT_EVERY_MS);
  const running = await queue.handle('nothing', () => {
    if (firstAtMs === 0) firstAtMs = Date.now();
    started += 1;
  });
  await once(process, 'message');
  clearInterval(timer);
  // What it holds is given back, so that the next round does not wait for it to expire.
  await running.stop();
  await queue.close();
  process.disconnect();
}

function report(): void {
  const told: ShareReport = { started, firstAtMs };
  process.send?.(told);
}
