import { must } from '../contract/contract-kit.ts';
import type { IdempotencyCase } from './idempotency-harness.ts';
import { DONE, ENDS, LONG_MS, mark, mustBe, promise, REPLY, SHORT_MS } from './idempotency-kit.ts';

/** What is promised to those who want to be forgotten. */
export function erasingCases(): readonly IdempotencyCase[] {
  return [...finished(), ...open()];
}

function finished(): readonly IdempotencyCase[] {
  return [
    promise('erasing a person removes what was answered and who it was, not that it was done', async (kit) => {
      const person = mark();
      const claims = [];
      for (const status of ['completed', 'failed'] as const) {
        const claim = await kit.enter(kit.claim({ person }));
        await kit.store.end(claim, { ...DONE, status });
        claims.push({ claim, before: await kit.mustFind(claim) });
      }
      mustBe(await kit.store.erase(person), 2, 'as many as there were');
      for (const { claim, before } of claims) {
        mustBe(await kit.store.find(claim.id), { ...before, person: null, reply: null }, 'the rest stays');
        const { status, updatedAt: finishedAt, expiresAt } = before;
        const answer = { kind: 'finished', status, reply: null, finishedAt, expiresAt };
        mustBe(await kit.store.claim(kit.rival(claim)), answer, 'the next one is told that it was done');
      }
      mustBe(await kit.store.erase(person), 0, 'nothing is left of this person');
    }),
    promise('erasing one person leaves the others and those without a name', async (kit) => {
      const [claim, nobody] = [await kit.enter(kit.claim()), await kit.enter(kit.claim({ person: null }))];
      for (const one of [claim, nobody]) await kit.store.end(one, DONE);
      mustBe(await kit.store.erase(mark()), 0, 'somebody nobody knows');
      mustBe((await kit.mustFind(claim)).reply, REPLY, 'the other has a reply');
      mustBe((await kit.mustFind(nobody)).reply, REPLY, 'and so has nobody');
    }),
    promise('many records of one person are all erased', async (kit) => {
      const person = mark();
      const claims = Array.from({ length: 300 }, () => kit.claim({ person }));
      await Promise.all(claims.map((claim) => kit.store.end(claim, DONE)));
      mustBe(await kit.store.erase(person), 300, 'each is counted');
      const found = await Promise.all(claims.map(({ id }) => kit.store.find(id)));
      must(
        found.every((record) => record?.reply === null && record.person === null),
        'each is erased',
      );
    }),
    promise('what is done for a person after the erasure is kept, and can be erased again', async (kit) => {
      const claim = await kit.enter(kit.claim());
      await kit.store.end(claim, DONE);
      await kit.store.erase(claim.person ?? '');
      const next = await kit.enter(kit.claim({ person: claim.person }));
      await kit.store.end(next, DONE);
      mustBe((await kit.mustFind(next)).reply, REPLY, 'it is kept');
      mustBe(await kit.store.erase(claim.person ?? ''), 1, 'and erased');
    }),
  ];
}

function open(): readonly IdempotencyCase[] {
  return [
    promise('a run that was erased runs on, and keeps no reply', async (kit) => {
      for (const end of ENDS) {
        const claim = await kit.enter(kit.claim());
        mustBe(await kit.store.erase(claim.person ?? ''), 1, 'it is erased');
        mustBe((await kit.mustFind(claim)).person, null, 'who it was is forgotten');
        mustBe(await kit.store.renew(claim), true, 'it runs on');
        mustBe(await kit.store.end(claim, end), 'ended', 'and ends');
        const found = await kit.store.find(claim.id);
        mustBe([found?.reply ?? null, found?.person ?? null], [null, null], 'nothing is known of it');
        if (end.kind === 'finish') mustBe(found?.status, end.status, 'but that it was done');
      }
    }),
    promise('an owner that claims again after the erasure is not known again', async (kit) => {
      const claim = await kit.enter(kit.claim());
      await kit.store.erase(claim.person ?? '');
      await kit.enter(claim);
      mustBe((await kit.mustFind(claim)).person, null, 'who it was stays forgotten');
    }),
    promise('what was erased while its outcome was unknown keeps no reply of the run that takes over', async (kit) => {
      const lost = await kit.lost();
      const doubted = await kit.enter(kit.claim());
      await kit.store.end(doubted, { kind: 'doubt' });
      for (const claim of [lost, doubted]) {
        mustBe(await kit.store.erase(claim.person ?? ''), 1, 'it is erased');
        mustBe(await kit.store.claim(kit.rival(claim)), { kind: 'unknown', run: 1 }, 'it is unknown as before');
        const heir = await kit.enter(kit.rival(claim, { takeUnknown: true }), 2);
        mustBe(await kit.store.end(heir, DONE), 'ended', 'the second run ends');
        const found = await kit.mustFind(claim);
        mustBe([found.status, found.reply], ['completed', null], 'without a reply');
      }
    }),
    promise('an erased record keeps its time', async (kit) => {
      const claim = await kit.enter(kit.claim({ keepMs: LONG_MS }));
      const short = { ...claim, keepMs: SHORT_MS };
      await kit.store.end(short, DONE);
      await kit.store.erase(claim.person ?? '');
      await kit.expires(short);
      await kit.enter(kit.rival(claim));
    }),
  ];
}
