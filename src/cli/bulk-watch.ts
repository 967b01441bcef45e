import { createSleep } from '../kernel/sleep.ts';
import type { Bulk, BulkState } from '../operator/bulk.ts';
import type { Operator } from '../operator/operator.ts';
import { describeBulk, tallyOf, unknownBulk } from './bulk-words.ts';
import { EXIT } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { type Progress, progressOn } from './progress.ts';

const INTERVAL_MS = 500;
/** As a shell says it of a program that was interrupted. */
const INTERRUPTED = 130;
const GOES_ON: readonly BulkState[] = ['canary', 'running'];

/**
 * Shows how an operation goes until nothing more happens, and carries it on meanwhile. A signal ends the watching alone. A bar on a
 * terminal, a line for each change elsewhere.
 */
export async function watchBulk(invocation: Invocation, operator: Operator, id: string): Promise<number> {
  const { io, options, output } = invocation;
  const intervalMs = options.durationMs('interval') ?? INTERVAL_MS;
  const stop = new AbortController();
  const forget = io.onSignal(() => stop.abort());
  const sleep = createSleep(io.effects);
  const progress = progressOn(io, output);
  let told = '';
  try {
    for (;;) {
      const bulk = await look(operator, id);
      const line = `${bulk.state}, ${tallyOf(bulk)}`;
      const isOver = !GOES_ON.includes(bulk.state);
      progress.bar(bulk.total - bulk.counts.selected - bulk.counts.started, bulk.total, line);
      if (line !== told && !isOver) output.record(bulk, () => io.canAsk || output.line(line));
      told = line;
      if (isOver) return ended(invocation, progress, bulk);
      if (stop.signal.aborted) return left(invocation, progress, bulk);
      await operator.stepBulks();
      await sleep(intervalMs, stop.signal).catch(() => undefined);
    }
  } finally {
    forget();
  }
}

async function look(operator: Operator, id: string): Promise<Bulk> {
  const found = await operator.bulk(id);
  if (found.kind === 'not-found') throw unknownBulk(id);
  return found.bulk;
}

function ended(invocation: Invocation, progress: Progress, bulk: Bulk): number {
  const { output } = invocation;
  progress.end();
  output.record(bulk, () => {
    describeBulk(invocation, bulk);
    if (bulk.state === 'planned') output.line(`\nIt has not begun: holdfast bulk start ${bulk.id}`);
    if (bulk.state === 'paused') output.line(`\nholdfast bulk resume ${bulk.id} goes on, bulk cancel ends it.`);
    if (bulk.counts.failed > 0)
      output.line(`\nholdfast bulk show ${bulk.id} --outcome failed lists what failed again.`);
  });
  return bulk.state === 'done' && bulk.counts.failed === 0 ? EXIT.ok : EXIT.failed;
}

function left({ io }: Invocation, progress: Progress, bulk: Bulk): number {
  progress.end();
  io.err(
    `No longer watching; ${bulk.id} goes on (${tallyOf(bulk)}). holdfast bulk watch ${bulk.id} watches again, bulk pause or bulk cancel stops it.\n`,
  );
  return INTERRUPTED;
}
