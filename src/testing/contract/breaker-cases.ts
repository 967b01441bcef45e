import type { BreakerAnswer } from '../../relay/relay-store.ts';
import { promise } from './contract-case.ts';
import type { ContractCase } from './contract-harness.ts';
import { FAILURE, handler, type Member, must, mustEqual } from './contract-kit.ts';

const NAME = 'stripe';
const HANDLERS = [{ ...handler('x'), breaker: { name: NAME, failures: 3 } }];

/** What workers are promised about breakers. */
export function breakerCases(): readonly ContractCase[] {
  return [...opening(), ...probing()];
}

/** Where the breaker stands for a worker; one that never opened is not told of. */
async function seen<Tx>({ session, id }: Member<Tx>): Promise<BreakerAnswer['sight'] | undefined> {
  return (await session.survey(id)).breakers[0];
}

function open<Tx>({ session, id }: Member<Tx>, epoch: number, probeInMs = 0): Promise<BreakerAnswer | undefined> {
  return session.changeBreaker(id, { kind: 'open', name: NAME, epoch, probeInMs, error: FAILURE });
}

function claim<Tx>({ session, id }: Member<Tx>, epoch: number): Promise<BreakerAnswer | undefined> {
  return session.changeBreaker(id, { kind: 'claim', name: NAME, epoch });
}

function opening(): readonly ContractCase[] {
  return [
    promise(
      'a breaker that one worker opened is open for all of its service, and is changed only by who has seen that',
      async (kit) => {
        const [a, b] = [await kit.join({ handlers: HANDLERS }), await kit.join({ handlers: HANDLERS })];
        const other = await kit.join({ handlers: HANDLERS, service: 'elsewhere' });
        mustEqual(await seen(b), undefined, 'one that never opened is not told of');
        const answer = await open(a, 0, 60_000);
        must(answer?.isChanged === true && answer.sight.state === 'open', 'it is open');
        const sight = await seen(b);
        must(sight?.state === 'open' && sight.epoch === answer?.sight.epoch, 'the others see it, under its epoch');
        must((sight?.probeInMs ?? 0) > 30_000 && sight?.isMine === false, 'and when a message may be tried');
        mustEqual(await seen(other), undefined, 'another service has one of its own');
        const late = await open(b, 0);
        must(late?.isChanged === false && late.sight.state === 'open', 'whoever comes second is told what is so');
        must((await claim(b, 0))?.isChanged === false, 'an old epoch claims nothing');
        must((await claim(b, late?.sight.epoch ?? 0))?.isChanged === false, 'nor does anybody before its time');
        const unknown = await a.session.changeBreaker(a.id, { kind: 'claim', name: 'nobody', epoch: 0 });
        mustEqual(unknown, undefined, 'of a breaker that is not there nothing is told');
      },
    ),
  ];
}

function probing(): readonly ContractCase[] {
  return [
    promise('of many workers that would try a message one may, and what it finds decides for all', async (kit) => {
      const [a, b] = [await kit.join({ handlers: HANDLERS }), await kit.join({ handlers: HANDLERS })];
      const epoch = (await open(a, 0))?.sight.epoch ?? 0;
      const claims = await Promise.all([claim(a, epoch), claim(b, epoch)]);
      const granted = claims.filter((answer) => answer?.isChanged === true);
      mustEqual(granted.length, 1, 'one of them may');
      const [mine, theirs] = claims[0]?.isChanged === true ? [a, b] : [b, a];
      const probe = await seen(mine);
      must(probe?.state === 'probing' && probe.isMine, 'it is told that it does');
      must((await seen(theirs))?.isMine === false, 'the other is told that it does not');
      const at = probe?.epoch ?? 0;
      const foreign = await theirs.session.changeBreaker(theirs.id, { kind: 'close', name: NAME, epoch: at });
      must(foreign?.isChanged === false, 'nobody else decides');
      const failed = { kind: 'reopen', name: NAME, epoch: at, probeInMs: 0, error: FAILURE } as const;
      const after = await mine.session.changeBreaker(mine.id, failed);
      must(after?.sight.state === 'open' && after.sight.probes === 1, 'a probe that failed is counted');
      const again = await claim(theirs, after?.sight.epoch ?? 0);
      const nothing = { ...failed, epoch: again?.sight.epoch ?? 0, error: undefined };
      const undecided = await theirs.session.changeBreaker(theirs.id, nothing);
      mustEqual(undecided?.sight.probes, 1, 'one that came to nothing is not');
      const last = await claim(mine, undecided?.sight.epoch ?? 0);
      const closed = { kind: 'close', name: NAME, epoch: last?.sight.epoch ?? 0 } as const;
      must((await mine.session.changeBreaker(mine.id, closed))?.isChanged === true, 'one that went well closes it');
      mustEqual((await seen(theirs))?.state, 'closed', 'for all');
    }),
    promise('a worker that dies while it tries a message leaves that to another', async (kit) => {
      const dead = await kit.own({ handlers: HANDLERS });
      const epoch = (await open(dead, 0))?.sight.epoch ?? 0;
      const claimed = (await claim(dead, epoch))?.sight.epoch ?? 0;
      const heir = await kit.takeOver(dead, { handlers: HANDLERS });
      const sight = await seen(heir);
      must(sight?.state === 'open' && sight.probeInMs === 0, 'it is open, and its time has come');
      must((await claim(heir, claimed))?.isChanged === true, 'the heir tries a message');
      const late = await dead.session.changeBreaker(dead.id, { kind: 'close', name: NAME, epoch: claimed });
      must(late?.isChanged !== true, 'what the dead one found does not count');
    }),
  ];
}
