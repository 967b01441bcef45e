import type { Claim } from '../../idempotency/idempotency-store.ts';
import { must } from '../contract/contract-kit.ts';
import type { IdempotencyCase } from './idempotency-harness.ts';
import { DONE, ENDS, type IdempotencyKit, LONG_MS, mark, mustBe, promise, SHORT_MS } from './idempotency-kit.ts';

/** What is promised to those who ask to run. */
export function claimingCases(): readonly IdempotencyCase[] {
  return [...first(), ...refused(), ...takingOver(), ...expiring()];
}

function first(): readonly IdempotencyCase[] {
  return [
    promise('the first claim is granted, and is shown as running', async (kit) => {
      const claim = await kit.enter(kit.claim());
      const { createdAt, updatedAt, expiresAt, ...rest } = await kit.mustFind(claim);
      const { id, domain, person, fingerprint } = claim;
      const shown = { id, domain, person, fingerprint, status: 'processing', run: 1, reply: null };
      mustBe(rest, shown, 'what operators see of it');
      must(createdAt > 0 && updatedAt === createdAt, 'it was made now');
      mustBe(expiresAt - createdAt, LONG_MS, 'it is kept from the claim on');
    }),
    promise('of many that claim at once, one is let in and the others are told that it runs', async (kit) => {
      const claim = kit.claim();
      const answers = await Promise.all(Array.from({ length: 30 }, () => kit.store.claim(kit.rival(claim))));
      mustBe(answers.filter(({ kind }) => kind === 'claimed').length, 1, 'one is let in');
      mustBe(answers.filter(({ kind }) => kind === 'running').length, 29, 'the others are told');
    }),
    promise('an owner whose answer was lost claims again, and is told the same', async (kit) => {
      const claim = await kit.enter(kit.claim());
      await kit.mustLeave(claim, 'the record is the same', async () => void (await kit.enter(claim)));
      const second = await kit.lost();
      const heir = await kit.enter(kit.rival(second, { takeUnknown: true }), 2);
      await kit.enter(heir, 2);
    }),
    promise('an owner that claims again after its lease was over holds it again', async (kit) => {
      const claim = await kit.lost();
      await kit.enter({ ...claim, leaseMs: LONG_MS });
      await kit.mustRun(claim, 'it holds');
    }),
    promise('things with other ids have nothing to do with each other', async (kit) => {
      const [a, b] = [await kit.enter(kit.claim()), kit.claim()];
      await kit.enter(kit.claim({ ...b, fingerprint: a.fingerprint, owner: a.owner, person: a.person }));
      await kit.store.end(a, DONE);
      await kit.mustRun({ ...b, fingerprint: a.fingerprint }, 'the other one runs on');
    }),
    promise('what is not known is not found', async (kit) => {
      mustBe(await kit.store.find(mark()), undefined, 'nothing');
    }),
  ];
}

function refused(): readonly IdempotencyCase[] {
  return [
    promise('while the lease holds, another is told how long it does, and changes nothing', async (kit) => {
      const claim = await kit.enter(kit.claim());
      for (const takeUnknown of [false, true]) {
        await kit.mustLeave(claim, 'the record is the same', async () => {
          const answer = await kit.store.claim(kit.rival(claim, { takeUnknown }));
          must(answer.kind === 'running' && answer.leaseLeftMs > 0 && answer.leaseLeftMs <= LONG_MS, 'it runs');
        });
      }
    }),
    promise('another fingerprint is a mismatch whatever the state, and is shown nothing', async (kit) => {
      const running = await kit.enter(kit.claim());
      const lost = await kit.lost();
      const ended: Claim[] = [];
      for (const end of ENDS.filter(({ kind }) => kind !== 'release')) {
        const claim = await kit.enter(kit.claim());
        await kit.store.end(claim, end);
        ended.push(claim);
      }
      for (const claim of [running, lost, ...ended]) {
        const other = { ...claim, fingerprint: mark(), takeUnknown: true };
        await kit.mustLeave(claim, 'the record is the same', async () => {
          mustBe(await kit.store.claim(other), { kind: 'mismatch' }, 'by the same owner');
          mustBe(await kit.store.claim(kit.rival(other)), { kind: 'mismatch' }, 'by another');
        });
      }
    }),
    promise('a finished thing is answered with its reply, to its owner too, whoever would take over', async (kit) => {
      for (const status of ['completed', 'failed'] as const) {
        const claim = await kit.enter(kit.claim());
        await kit.store.end(claim, { ...DONE, status });
        const { updatedAt: finishedAt, expiresAt } = await kit.mustFind(claim);
        const answer = { kind: 'finished', status, reply: DONE.reply, finishedAt, expiresAt };
        await kit.mustLeave(claim, 'the record is the same', async () => {
          mustBe(await kit.store.claim(claim), answer, 'to its owner');
          mustBe(await kit.store.claim(kit.rival(claim)), answer, 'to another');
          mustBe(await kit.store.claim(kit.rival(claim, { takeUnknown: true })), answer, 'to one that would take over');
        });
      }
    }),
  ];
}

function takingOver(): readonly IdempotencyCase[] {
  return [
    promise('a lease that is over without an end is an unknown outcome, told as often as one asks', async (kit) => {
      const claim = await kit.lost();
      await kit.mustLeave(claim, 'asking changes nothing', async () => {
        mustBe(await kit.store.claim(kit.rival(claim)), { kind: 'unknown', run: 1 }, 'to the first');
        mustBe(await kit.store.claim(kit.rival(claim)), { kind: 'unknown', run: 1 }, 'to the next');
      });
      mustBe((await kit.mustFind(claim)).status, 'unknown', 'operators see it too');
    }),
    promise('whoever takes over runs as the next run, and is the owner', async (kit) => {
      const claim = await kit.lost();
      const before = await kit.mustFind(claim);
      const heir = await kit.enter(kit.rival(claim, { takeUnknown: true }), 2);
      await kit.mustRun(heir, 'it holds a lease of its own');
      const after = await kit.mustFind(heir);
      mustBe(
        [after.status, after.run, after.createdAt],
        ['processing', 2, before.createdAt],
        'the next run of the same',
      );
      mustBe(after.expiresAt - after.updatedAt, LONG_MS, 'kept from the new claim on');
      mustBe(await kit.store.renew(claim), false, 'it is not the first one’s any more');
    }),
    promise('of many that would take over at once, one does', async (kit) => {
      const claim = await kit.lost();
      const heirs = Array.from({ length: 30 }, () => kit.store.claim(kit.rival(claim, { takeUnknown: true })));
      const answers = await Promise.all(heirs);
      mustBe(answers.filter(({ kind }) => kind === 'claimed').length, 1, 'one takes over');
      mustBe(answers.filter(({ kind }) => kind === 'running').length, 29, 'the others are told that it runs');
    }),
    promise('what ended in doubt is unknown at once, for its owner too, until somebody takes over', async (kit) => {
      const claim = await kit.enter(kit.claim());
      await kit.store.end(claim, { kind: 'doubt' });
      mustBe(await kit.store.claim(claim), { kind: 'unknown', run: 1 }, 'to its owner');
      mustBe(await kit.store.claim(kit.rival(claim)), { kind: 'unknown', run: 1 }, 'to another');
      mustBe((await kit.mustFind(claim)).status, 'unknown', 'to operators');
      const heir = await kit.enter(kit.rival(claim, { takeUnknown: true }), 2);
      await kit.store.end(heir, DONE);
      mustBe((await kit.store.claim(claim)).kind, 'finished', 'and then it has an end');
    }),
    promise('runs are counted on with each take-over', async (kit) => {
      let claim = await kit.enter(kit.claim());
      for (let run = 2; run <= 4; run++) {
        await kit.store.end(claim, { kind: 'doubt' });
        claim = await kit.enter(kit.rival(claim, { takeUnknown: true }), run);
      }
      mustBe((await kit.mustFind(claim)).run, 4, 'the record says so');
    }),
  ];
}

function expiring(): readonly IdempotencyCase[] {
  return [
    promise('a record that has expired is as if it had never been, for every step', async (kit) => {
      const states: ((claim: Claim) => Promise<unknown>)[] = [
        async () => undefined,
        ...ENDS.map((end) => (claim: Claim) => kit.store.end(claim, end)),
      ];
      for (const reach of states) {
        const claim = await kit.enter(kit.claim({ keepMs: SHORT_MS }));
        await reach(claim);
        await kit.expires(claim);
        mustBe(await kit.store.erase(claim.person ?? ''), 0, 'there is nothing to erase');
        mustBe(await kit.store.renew(claim), false, 'nothing to renew');
        const other = await kit.enter(kit.rival(claim, { fingerprint: mark() }));
        mustBe((await kit.mustFind(other)).run, 1, 'it begins anew');
      }
    }),
    promise('an end after the record has expired is kept, since something was done', async (kit) => {
      const claim = await kit.enter(kit.claim({ keepMs: SHORT_MS }));
      await kit.expires(claim);
      const late = { ...claim, keepMs: LONG_MS };
      mustBe(await kit.store.end(late, DONE), 'ended', 'it is taken');
      mustBe((await kit.store.claim(kit.rival(claim))).kind, 'finished', 'and known');
    }),
    promise('a record is kept from its end on', async (kit) => {
      const claim = await kit.enter(kit.claim({ keepMs: SHORT_MS, leaseMs: LONG_MS }));
      mustBe(await kit.store.end({ ...claim, keepMs: LONG_MS }, DONE), 'ended', 'it ends');
      const { updatedAt, expiresAt } = await kit.mustFind(claim);
      mustBe(expiresAt - updatedAt, LONG_MS, 'for as long as the end says');
    }),
    promise('clearing away takes what has expired and nothing else', async (kit) => {
      const kept = await kit.enter(kit.claim());
      const gone = [await shortly(kit), await shortly(kit), await shortly(kit)];
      for (const claim of gone) await kit.expires(claim);
      const counts = [await kit.store.reap(2), await kit.store.reap(100), await kit.store.reap(100)];
      must((counts[0] ?? 0) <= 2, 'at most as many as were asked for');
      must(counts.reduce((sum, n) => sum + n, 0) <= gone.length, 'each once');
      mustBe(counts[2], 0, 'until nothing is left');
      await kit.mustRun(kept, 'what has not expired is there');
    }),
  ];
}

async function shortly(kit: IdempotencyKit): Promise<Claim> {
  return kit.enter(kit.claim({ keepMs: SHORT_MS }));
}
