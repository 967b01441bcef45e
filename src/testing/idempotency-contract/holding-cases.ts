import { must } from '../contract/contract-kit.ts';
import type { IdempotencyCase } from './idempotency-harness.ts';
import { DONE, ENDS, LONG_MS, mustBe, promise, SHORT_MS } from './idempotency-kit.ts';

/** What is promised to those who run. */
export function holdingCases(): readonly IdempotencyCase[] {
  return [...renewing(), ...losing()];
}

function renewing(): readonly IdempotencyCase[] {
  return [
    promise('a renewed lease holds, and so does the record', async (kit) => {
      const claim = await kit.enter(kit.claim({ leaseMs: SHORT_MS, keepMs: LONG_MS }));
      const { expiresAt } = await kit.mustFind(claim);
      mustBe(await kit.store.renew({ ...claim, leaseMs: LONG_MS, keepMs: 2 * LONG_MS }), true, 'it is renewed');
      await kit.mustRun(claim, 'others are told that it runs');
      const after = await kit.mustFind(claim);
      must(after.expiresAt >= expiresAt + LONG_MS, 'it is kept longer');
      mustBe(
        [after.status, after.run, after.updatedAt],
        ['processing', 1, after.createdAt],
        'nothing else has changed',
      );
    }),
    promise('a renewal may be shorter than what it renews', async (kit) => {
      const claim = await kit.enter(kit.claim());
      const short = { ...claim, leaseMs: SHORT_MS };
      mustBe(await kit.store.renew(short), true, 'it is renewed');
      await kit.leaseEnds(short);
      mustBe(await kit.store.claim(kit.rival(claim)), { kind: 'unknown', run: 1 }, 'and is over in its time');
    }),
    promise('a lease that is over is renewed as long as nobody has taken over', async (kit) => {
      const claim = await kit.lost();
      mustBe(await kit.store.renew({ ...claim, leaseMs: LONG_MS }), true, 'it is renewed');
      await kit.mustRun(claim, 'it holds again, also for those who would take over');
      mustBe((await kit.store.claim(kit.rival(claim, { takeUnknown: true }))).kind, 'running', 'really');
    }),
  ];
}

function losing(): readonly IdempotencyCase[] {
  return [
    promise('of a renewal and a take-over at once, one succeeds', async (kit) => {
      for (let round = 0; round < 10; round++) {
        const claim = await kit.lost();
        const heir = kit.rival(claim, { takeUnknown: true });
        const [isRenewed, answer] = await Promise.all([
          kit.store.renew({ ...claim, leaseMs: LONG_MS }),
          kit.store.claim(heir),
        ]);
        mustBe(isRenewed, answer.kind !== 'claimed', 'never both, never neither');
      }
    }),
    promise('nobody renews what is another’s, what has ended, or what is not there', async (kit) => {
      const claim = await kit.enter(kit.claim());
      await kit.mustLeave(claim, 'the record is the same', async () => {
        mustBe(await kit.store.renew(kit.rival(claim)), false, 'what is another’s');
      });
      for (const end of ENDS) {
        const ended = await kit.enter(kit.claim());
        await kit.store.end(ended, end);
        await kit.mustLeave(ended, 'the record is the same', async () => {
          mustBe(await kit.store.renew(ended), false, `what has ended by ${end.kind}`);
        });
      }
      const none = kit.claim();
      mustBe(await kit.store.renew(none), false, 'what is not there');
      mustBe(await kit.store.find(none.id), undefined, 'and is not made by it');
    }),
    promise(
      'a run that was taken over is not renewed by its first owner, after the end of the second neither',
      async (kit) => {
        const claim = await kit.lost();
        const heir = await kit.enter(kit.rival(claim, { takeUnknown: true }), 2);
        mustBe(await kit.store.renew(claim), false, 'while the second runs');
        await kit.store.end(heir, DONE);
        mustBe(await kit.store.renew(claim), false, 'after it');
      },
    ),
  ];
}
