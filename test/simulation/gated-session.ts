import { asOneEffect } from '../../src/relay/commit-effects.ts';
import type { RelaySession, SettleTarget } from '../../src/relay/relay-store.ts';
import type { Gate } from './gate.ts';

/** Told about each write that was accepted, and under which token, with what the lease said when it was asked for. */
export type OnWritten = (write: { call: string; target: SettleTarget; epochWhenAsked: number | undefined }) => void;

/** A session as a worker behind a gate sees it: nothing goes out and nothing comes in while the gate is closed. */
export function gatedSession<Tx>(
  session: RelaySession<Tx>,
  gate: Gate,
  audit: { epochOf(unit: number): number | undefined; onWritten: OnWritten },
): RelaySession<Tx> {
  const through = passing(gate);
  const epochs = (targets: readonly SettleTarget[]): readonly (number | undefined)[] =>
    targets.map(({ token }) => audit.epochOf(token.unit));
  const written = (
    call: string,
    targets: readonly SettleTarget[],
    asked: readonly (number | undefined)[],
    isWritten: (target: SettleTarget) => boolean,
  ): void => {
    for (const [i, target] of targets.entries()) {
      // An answer names the row. Two results for it under two tokens: the newer one was written.
      const isOutdone = targets.some(({ seq, token }) => seq === target.seq && token.epoch > target.token.epoch);
      if (isWritten(target) && !isOutdone) audit.onWritten({ call, target, epochWhenAsked: asked[i] });
    }
  };
  return {
    ...plainCalls(session, gate),
    settle: (id, settlements) =>
      through(async () => {
        const asked = epochs(settlements);
        const answer = await session.settle(id, settlements);
        written('settle', settlements, asked, ({ seq }) => answer.settled.has(seq));
        return answer;
      }),
    mark: (id, targets) =>
      through(async () => {
        const asked = epochs(targets);
        const marked = await session.mark(id, targets);
        written('mark', targets, asked, ({ seq }) => marked.has(seq));
        return marked;
      }),
    commit: (id, targets, effects) =>
      through(async () => {
        const asked = epochs(targets);
        const outcome = await session.commit(id, targets, async (tx) => {
          await gate.pass();
          await asOneEffect(effects)(tx);
          await gate.pass();
        });
        written('commit', targets, asked, () => outcome === 'committed');
        return outcome;
      }),
  };
}

type Plain<Tx> = Omit<RelaySession<Tx>, 'settle' | 'mark' | 'commit'>;

/** The calls that change no delivery under a token. */
function plainCalls<Tx>(session: RelaySession<Tx>, gate: Gate): Plain<Tx> {
  const through = passing(gate);
  return {
    register: (worker) => through(() => session.register(worker)),
    beat: (id, leaseMs, running) => through(() => session.beat(id, leaseMs, running)),
    incarnation: () => through(() => session.incarnation()),
    survey: (id) => through(() => session.survey(id)),
    changeBreaker: (id, change) => through(() => session.changeBreaker(id, change)),
    acquire: (id, units) => through(() => session.acquire(id, units)),
    release: (id, tokens) => through(() => session.release(id, tokens)),
    leave: (id) => through(() => session.leave(id)),
    load: (units) => through(() => session.load(units)),
    read: (request) => through(() => session.read(request)),
    fetch: (rows, unit) => through(() => session.fetch(rows, unit)),
    unmark: (unit, seqs) => through(() => session.unmark(unit, seqs)),
    receive: (messages, rememberMs) => through(() => session.receive(messages, rememberMs)),
    unmirrored: (units, limit) => through(() => session.unmirrored(units, limit)),
    mirrored: (deliveries) => through(() => session.mirrored(deliveries)),
    doze: (id) => through(() => session.doze(id)),
    rouse: (id) => through(() => session.rouse(id)),
    listen: (onNews) => through(() => session.listen((news) => gate.run(() => onNews(news)))),
    tidy: (keep) => through(() => session.tidy(keep)),
    close: () => through(() => session.close()),
  };
}

function passing(gate: Gate): <T>(work: () => Promise<T>) => Promise<T> {
  return async (work) => {
    await gate.pass();
    try {
      return await work();
    } finally {
      await gate.pass();
    }
  };
}
