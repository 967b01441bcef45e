import type { IdempotencyAbout } from './idempotency-event.ts';
import type { Claim, ClaimAnswer } from './idempotency-store.ts';
import type { Repeater, Repetition } from './repeater.ts';
import type { StoreCalls } from './store-calls.ts';

const FIRST_WAIT_MS = 1_000;

/**
 * Takes back a claim whose answer did not come in time, and which nobody uses: it may have been granted all the same, at once or when
 * a store that hangs goes on, and would stand in the way of the next one until its lease ends, and as an unknown outcome after that.
 * `asked` is the call itself, which may still be answered.
 */
export function undoClaim<Tx>(
  calls: StoreCalls<Tx>,
  repeater: Repeater,
  about: IdempotencyAbout,
  claim: Claim,
  asked: Promise<ClaimAnswer>,
): void {
  const { effects } = calls;
  let isGranted = false;
  let confirmedMs: number | undefined;
  let waitMs = FIRST_WAIT_MS;
  const repetition: Repetition = {
    untilMs: effects.monoMs() + claim.keepMs,
    holdsProcessUntilMs: 0,
    attempt: async () => {
      const isLast = isGranted;
      await undo(calls, about, claim);
      if (isLast) return undefined;
      // The call may be waiting in a server that has lost its client: it is applied when that goes on, which is about now.
      const now = effects.monoMs();
      confirmedMs ??= now;
      const delayMs = waitMs;
      waitMs *= 2;
      return now + delayMs - confirmedMs > claim.leaseMs ? undefined : delayMs;
    },
  };
  repeater.add(repetition);
  const learn = (answer: ClaimAnswer): void => {
    isGranted = answer.kind === 'claimed';
    if (isGranted) repeater.add(repetition, 0);
    else repeater.remove(repetition);
  };
  asked.then(learn, () => undefined);
}

async function undo<Tx>(calls: StoreCalls<Tx>, about: IdempotencyAbout, claim: Claim): Promise<void> {
  const { store } = calls;
  if (!claim.takeUnknown) {
    await calls.call('end', about, () => store.end(claim, { kind: 'release' }));
    return;
  }
  // It may have taken over from a run whose outcome is unknown, and to release it would be to forget that run. Asking for its number
  // first would not help: a claim that arrives late is given another one. So it is in doubt, if it was granted at all, and
  // whoever comes next with this policy takes over at once.
  const isGranted = await calls.call('renew', about, () => store.renew(claim));
  if (isGranted) await calls.call('end', about, () => store.end(claim, { kind: 'doubt' }));
}
