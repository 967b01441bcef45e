import type { Effects } from '../kernel/effects.ts';
import { createSleep } from '../kernel/sleep.ts';
import type { OutboundItem, OutboundOutcome, PublishingHandler } from '../relay/handler.ts';
import { publishWrapped, type TracedItem } from '../relay/publish-wrapped.ts';
import type { RunWrapper } from '../relay/run-wrapper.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import { attemptOf, planFailure } from '../relay/run-failure.ts';
import { sequenceText } from '../relay/run-publishing.ts';
import { deliveryOf, type OutboxRow } from './row.ts';
import type { Rows } from './rows.ts';
import type { Tenure, WorkerParts } from './worker.ts';

/** What publishing needs. */
export interface PublishParts {
  readonly rows: Rows<OutboxRow>;
  readonly handler: PublishingHandler;
  readonly effects: Effects;
  readonly tell: RelayObserver;
  readonly wrapRun: RunWrapper | undefined;
}

/** As many are on their way at once; the next are read when the broker has answered for all of them. */
const BATCH = 500;

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

/** Makes the rounds of a worker that publishes. */
export function publishRound(parts: PublishParts): WorkerParts['round'] {
  const { handler, tell } = parts;
  let count = 0;
  return async (tenure) => {
    const { rows, nextDueInMs } = await parts.rows.read(BATCH);
    if (rows.length === 0) return { idleMs: nextDueInMs ?? Infinity };
    const startedAt = parts.effects.now();
    const items = rows.map((row): TracedItem => {
      const { _id: id } = row;
      const delivery = deliveryOf(row, id);
      const { attempt } = attemptOf(handler, delivery);
      tell({ kind: 'run-started', handler: handler.name, delivery, attempt });
      const sequence = sequenceText(tenure.lease.epoch, (count += 1));
      return {
        delivery,
        payload: row.payload,
        sequence,
        trace: undefined,
        get isGivenUp() {
          return tenure.signal.aborted;
        },
      };
    });
    const outcomes = await publishWrapped(parts.wrapRun, handler, items, ({ delivery }) => ({
      handler: handler.name,
      delivery,
      attempt: attemptOf(handler, delivery).attempt,
    }));
    await settle(parts, tenure, { rows, items, outcomes, startedAt });
    return 'busy';
  };
}

interface Published {
  readonly rows: readonly OutboxRow[];
  readonly items: readonly OutboundItem[];
  readonly outcomes: readonly OutboundOutcome[];
  readonly startedAt: ReturnType<Effects['now']>;
}

async function settle(parts: PublishParts, tenure: Tenure, published: Published): Promise<void> {
  const { rows, handler, effects, tell } = parts;
  const { items, outcomes, startedAt } = published;
  const out = published.rows.filter((_, place) => outcomes[place]?.kind === 'published');
  if (out.length > 0) await finish(parts, out, tenure.signal);
  const durationMs = effects.monoMs() - startedAt.monoMs;
  for (const [place, row] of published.rows.entries()) {
    const [outcome, delivery] = [outcomes[place], items[place]?.delivery];
    if (!outcome || !delivery) continue;
    const about = { handler: handler.name, delivery, ...attemptOf(handler, delivery) };
    if (outcome.kind === 'published') tell({ kind: 'run-done', ...about, durationMs });
    if (outcome.kind !== 'failed') continue;
    const { _id: dlqId } = row;
    const { settlement, event } = planFailure(handler, {
      delivery,
      dlqId,
      target: {
        token: { unit: 0, epoch: tenure.lease.epoch },
        seq: row.seq,
        state: delivery.state,
        version: 0,
        cycle: row.replays,
      },
      error: outcome.error,
      startedAt,
      now: effects.now(),
      random: effects.random(),
    });
    const reason = event.next.kind === 'dead' ? event.next.reason : null;
    if (await rows.fail(tenure.lease, row, settlement, reason)) tell(event);
  }
}

/** They are out: that is said until it is heard, or another would publish them again. */
async function finish(
  { rows, effects, tell }: PublishParts,
  out: readonly OutboxRow[],
  signal: AbortSignal,
): Promise<void> {
  const sleep = createSleep(effects);
  for (let failures = 1; ; failures++) {
    try {
      return await rows.finish(out.map(({ _id }) => _id));
    } catch (error) {
      if (signal.aborted) throw error;
      tell({ kind: 'store-failed', during: 'settle', error, failures });
      await sleep(Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS), signal).catch(() => undefined);
    }
  }
}
