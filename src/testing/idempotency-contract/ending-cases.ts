import type { KeptReply, RunEnd } from '../../idempotency/idempotency-store.ts';
import { must } from '../contract/contract-kit.ts';
import type { IdempotencyCase } from './idempotency-harness.ts';
import { DONE, ENDS, LONG_MS, mustBe, promise, REPLY } from './idempotency-kit.ts';

/** What is promised about ends and about what was answered. */
export function endingCases(): readonly IdempotencyCase[] {
  return [...ends(), ...tooLate(), ...vanished(), ...replies()];
}

function ends(): readonly IdempotencyCase[] {
  return [
    promise('a run that finished is shown with its status, its reply and its times', async (kit) => {
      for (const status of ['completed', 'failed'] as const) {
        const claim = await kit.enter(kit.claim());
        mustBe(await kit.store.end(claim, { ...DONE, status }), 'ended', 'it ends');
        const { createdAt, updatedAt, expiresAt, ...rest } = await kit.mustFind(claim);
        const { id, domain, person, fingerprint } = claim;
        mustBe(rest, { id, domain, person, fingerprint, status, run: 1, reply: REPLY }, 'what operators see of it');
        must(updatedAt >= createdAt, 'it ended after it began');
        mustBe(expiresAt - updatedAt, LONG_MS, 'it is kept from its end on');
      }
    }),
    promise('a release leaves nothing, and the next claim is a first one', async (kit) => {
      const claim = await kit.enter(kit.claim());
      mustBe(await kit.store.end(claim, { kind: 'release' }), 'ended', 'it ends');
      mustBe(await kit.store.find(claim.id), undefined, 'nothing is left');
      mustBe(await kit.store.erase(claim.person ?? ''), 0, 'not for the person either');
      await kit.enter(kit.rival(claim));
    }),
    promise('an end may be said after the lease is over, when nobody has taken over', async (kit) => {
      for (const end of ENDS) {
        const claim = await kit.lost();
        mustBe(await kit.store.end({ ...claim, keepMs: LONG_MS }, end), 'ended', `by ${end.kind}`);
        const found = await kit.store.find(claim.id);
        const status = end.kind === 'finish' ? end.status : end.kind === 'doubt' ? 'unknown' : undefined;
        mustBe(found?.status, status, `it counts, by ${end.kind}`);
      }
    }),
    promise('an end may be said again, and the first counts', async (kit) => {
      const others: readonly RunEnd[] = [...ENDS, { ...DONE, reply: { head: '{}', body: undefined } }];
      for (const end of ENDS.filter(({ kind }) => kind !== 'release')) {
        const claim = await kit.enter(kit.claim());
        mustBe(await kit.store.end(claim, end), 'ended', 'it ends');
        for (const other of others) {
          await kit.mustLeave(claim, `the record is the same after ${end.kind} and ${other.kind}`, async () => {
            mustBe(await kit.store.end(claim, other), 'ended', 'it is told that it has ended');
          });
        }
      }
      const released = await kit.enter(kit.claim());
      await kit.store.end(released, { kind: 'release' });
      mustBe(await kit.store.end(released, { kind: 'release' }), 'ended', 'a release may be said again too');
    }),
  ];
}

function tooLate(): readonly IdempotencyCase[] {
  return [
    promise('an end of a run that was taken over is late, and changes nothing', async (kit) => {
      for (const end of ENDS) {
        const claim = await kit.lost();
        const heir = await kit.enter(kit.rival(claim, { takeUnknown: true }), 2);
        await kit.mustLeave(claim, 'the record is the same', async () => {
          mustBe(await kit.store.end(claim, end), 'late', `by ${end.kind} while the second runs`);
        });
        await kit.mustRun(heir, 'the second runs on');
        await kit.store.end(heir, DONE);
        await kit.mustLeave(claim, 'the record is the same', async () => {
          mustBe(await kit.store.end(claim, end), 'late', `by ${end.kind} after it`);
        });
      }
    }),
    promise('of an end and a take-over at once, one succeeds', async (kit) => {
      for (let round = 0; round < 10; round++) {
        const claim = await kit.lost();
        const [ended, answer] = await Promise.all([
          kit.store.end(claim, DONE),
          kit.store.claim(kit.rival(claim, { takeUnknown: true })),
        ]);
        mustBe([ended, answer.kind], ended === 'ended' ? ['ended', 'finished'] : ['late', 'claimed'], 'one of both');
      }
    }),
    promise('nobody ends what is another’s', async (kit) => {
      const claim = await kit.enter(kit.claim());
      for (const end of ENDS) {
        await kit.mustLeave(claim, 'the record is the same', async () => {
          mustBe(await kit.store.end(kit.rival(claim), end), 'late', `by ${end.kind}`);
        });
      }
    }),
  ];
}

function vanished(): readonly IdempotencyCase[] {
  return [
    promise('an end whose record has vanished is written anew, so that what was done is known', async (kit) => {
      for (const end of ENDS) {
        const claim = kit.claim();
        mustBe(await kit.store.end(claim, end), 'ended', `by ${end.kind}`);
        const found = await kit.store.find(claim.id);
        if (end.kind === 'release') {
          mustBe(found, undefined, 'a release has nothing to tell');
          continue;
        }
        const { id, domain, person, fingerprint } = claim;
        const told =
          end.kind === 'finish' ? { status: end.status, reply: end.reply } : { status: 'unknown', reply: null };
        const { createdAt, updatedAt, expiresAt, ...rest } = found ?? { createdAt: 0, updatedAt: 0, expiresAt: 0 };
        mustBe(rest, { id, domain, person, fingerprint, run: 1, ...told }, 'all of it');
        mustBe([updatedAt - createdAt, expiresAt - updatedAt], [0, LONG_MS], 'with its times');
        const answer = await kit.store.claim(kit.rival(claim));
        mustBe(answer.kind, end.kind === 'finish' ? 'finished' : 'unknown', 'the next one is told');
        mustBe(await kit.store.erase(claim.person ?? ''), 1, 'and it can be erased');
      }
    }),
  ];
}

function replies(): readonly IdempotencyCase[] {
  const every = Uint8Array.from({ length: 256 }, (_, i) => i);
  const bodies: readonly (readonly [string, Uint8Array | undefined])[] = [
    ['no body', undefined],
    ['an empty body', new Uint8Array()],
    ['every byte', every],
    ['a text with letters of all sizes and a null', new TextEncoder().encode('aé€😀\u0000\r\n"\\')],
    ['a byte order mark before a text', Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)],
    ['half a letter', Uint8Array.of(0x61, 0xe2, 0x82)],
    ['a megabyte', Uint8Array.from({ length: 2 ** 20 }, (_, i) => (i * 31 + (i >> 8)) & 0xff)],
  ];
  return [
    ...bodies.map(([name, body]) =>
      promise(`a reply is given back byte by byte: ${name}`, async (kit) => {
        const claim = await kit.enter(kit.claim());
        const reply: KeptReply = { head: '{"headers":[["x","é😀\\n"]]}', body };
        mustBe(await kit.store.end(claim, { ...DONE, reply }), 'ended', 'it is kept');
        const answer = await kit.store.claim(kit.rival(claim));
        mustBe(answer.kind === 'finished' && answer.reply, reply, 'to the next who asks');
        mustBe((await kit.mustFind(claim)).reply, reply, 'and to operators');
      }),
    ),
    promise('bytes that are a window into others are kept as that window', async (kit) => {
      const claim = await kit.enter(kit.claim());
      const reply = { head: '{}', body: every.subarray(200, 210) };
      await kit.store.end(claim, { ...DONE, reply });
      const answer = await kit.store.claim(kit.rival(claim));
      mustBe(answer.kind === 'finished' && answer.reply?.body, every.slice(200, 210), 'ten bytes');
    }),
    promise('a domain is any text, and nobody in particular may ask', async (kit) => {
      const claim = await kit.enter(kit.claim({ domain: 'POST /ö/{id}?a=\'b\' "c" \\ €', person: null }));
      mustBe(await kit.store.renew(claim), true, 'renewed');
      mustBe(await kit.store.end(claim, DONE), 'ended', 'ended');
      const { domain, person } = await kit.mustFind(claim);
      mustBe({ domain, person }, { domain: claim.domain, person: null }, 'found as it was');
    }),
  ];
}
