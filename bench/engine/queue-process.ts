// node queue-process.ts <queue> <database url>
//
// One of several processes that work off the same queue. Opens it, tells that it is ready, begins when it is told, and tells how many
// handlers have started.
import { poolOn } from './bench-database.ts';
import { SHARED, type SharedName } from './shared-queues.ts';

/** How many handlers have started, and when the first did, by the clock all processes share. */
export interface ShareReport {
  readonly started: number;
  readonly firstAtMs: number;
}

const REPORT_EVERY_MS = 20;
const [, , name = '', url = ''] = process.argv;
const queue = await SHARED[name as SharedName]({ url, admin: poolOn(url, 2), close: async () => undefined });
let started = 0;
let firstAtMs = 0;

process.once('message', () => {
  setInterval(report, REPORT_EVERY_MS);
  void queue.handle('nothing', () => {
    if (firstAtMs === 0) firstAtMs = Date.now();
    started += 1;
  });
});
// The parent needs it no longer, or is gone.
process.once('disconnect', () => process.exit());
report();

function report(): void {
  const told: ShareReport = { started, firstAtMs };
  process.send?.(told);
}
