import type { PublishingHandler } from './handler.ts';
import type { Delivery } from './relay-store.ts';
import { fetchPayload, failureOf, type RunnerHost, tellStarted } from './run-handler.ts';
import { publishWrapped, type TracedItem } from './publish-wrapped.ts';
import type { CarriedTrace } from './run-wrapper.ts';
import type { Run } from './run.ts';

/** Wide enough for the largest epoch and for what one process can publish in its life. */
const DIGITS = 16;

/**
 * Hands deliveries on together. Each ends by itself: what is out is done, also where its neighbour failed. What comes after a failed
 * one of its key goes back in line.
 */
export async function runPublishing<Tx>(
  host: RunnerHost<Tx>,
  handler: PublishingHandler,
  runs: readonly Run<Tx>[],
): Promise<void> {
  const ready: { readonly run: Run<Tx>; readonly item: RunItem<Tx> }[] = [];
  const stuckKeys = new Set<string>();
  for (const run of runs) {
    tellStarted(host, run);
    if (run.key !== undefined && stuckKeys.has(run.key)) {
      host.end(run, { kind: 'interrupted' });
      continue;
    }
    try {
      const payload = run.delivery.payload ?? (await fetchPayload(host, run));
      ready.push({ run, item: new RunItem(run, payload, host.nextSequence(run)) });
    } catch (error) {
      // Its own failure would hold its key before others of it have run: it fails again when it is the first.
      const isBehind = run.key !== undefined && ready.some((before) => before.run.key === run.key);
      host.end(run, isBehind ? { kind: 'interrupted' } : failureOf(run, error));
      if (run.key !== undefined) stuckKeys.add(run.key);
    }
  }
  if (ready.length === 0) return;
  try {
    const items = ready.map(({ item }) => item);
    const outcomes = await publishWrapped(host.wrapRun, handler, items, ({ run }) => run);
    for (const [place, { run }] of ready.entries()) {
      const outcome = outcomes[place];
      if (outcome?.kind === 'published') host.end(run, { kind: 'done' });
      else if (outcome?.kind === 'failed') host.end(run, failureOf(run, outcome.error));
      else host.end(run, { kind: 'interrupted' });
    }
  } catch (error) {
    for (const { run } of ready) host.end(run, failureOf(run, error));
  }
}

/** A run as it is handed on. It is asked whether it is given up instead of being given a signal: one for each message is dear. */
class RunItem<Tx> implements TracedItem {
  readonly delivery: Delivery;
  readonly payload: string;
  readonly sequence: string;
  trace: CarriedTrace | undefined;
  readonly run: Run<Tx>;

  constructor(run: Run<Tx>, payload: string, sequence: string) {
    this.delivery = run.delivery;
    this.payload = payload;
    this.sequence = sequence;
    this.run = run;
  }

  get isGivenUp(): boolean {
    return this.run.aborted !== undefined;
  }
}

/** Text that grows with every call under an epoch and from one epoch to the next. */
export function sequenceText(epoch: number, count: number): string {
  return String(epoch).padStart(DIGITS, '0') + String(count).padStart(DIGITS, '0');
}
