// node worker-process.ts <database url>
//
// A worker of the bench in a process of its own, so that its memory and its share of the processor are its own. It tells
// its parent how far it is, and when asked which messages it saw not once.
import { poolOn } from './bench-database.ts';
import { handleOrders, relayOn } from './holdfast-queue.ts';

/** What the worker tells: how many handlers have started, when the first of these did, and its greatest memory so far. */
export interface WorkerReport {
  readonly started: number;
  readonly firstAtMs: number;
  readonly maxRssMb: number;
  /** Totals seen more than once. */
  readonly doubled: number;
  /** Totals below `expected` that were not seen. */
  readonly missing: number;
}

const REPORT_EVERY_MS = 20;

const pool = poolOn(process.argv[2] ?? '', 20);
const seen = new Uint8Array(8_000_000);
let started = 0;
let firstAtMs = 0;
let expected = 0;
const relay = relayOn(pool);
handleOrders(relay, ({ total }) => {
  if (firstAtMs === 0) firstAtMs = Date.now();
  started += 1;
  seen[total] = (seen[total] ?? 0) + 1;
});
const running = await relay.start();

function report(): void {
  const looked = seen.subarray(0, expected);
  const message: WorkerReport = {
    started,
    firstAtMs,
    maxRssMb: process.resourceUsage().maxRSS / 1024,
    doubled: looked.filter((times) => times > 1).length,
    missing: looked.filter((times) => times === 0).length,
  };
  process.send?.(message);
}

const timer = setInterval(report, REPORT_EVERY_MS);
process.on('message', (message: { expected?: number; stop?: boolean }) => {
  if (message.expected !== undefined) expected = message.expected;
  if (message.stop === true) void end();
});

// Asked to stop, or the parent is gone.
process.once('disconnect', () => process.exit());

async function end(): Promise<void> {
  clearInterval(timer);
  await running.stop();
  await pool.end();
  report();
  process.disconnect();
}
