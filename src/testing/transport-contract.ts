import { must, mustEqual } from './contract/contract-kit.ts';
import type { TransportCase } from './transport-contract/transport-harness.ts';
import { numbersOf, promise } from './transport-contract/transport-kit.ts';

const COUNT = 200;
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/**
 * Every promise of a transport, as cases for any test runner: give each a name space of its own at the broker. A transport that keeps
 * them all can carry the messages of a service: what the engine promises on top of it is the engine's.
 */
export function transportContract(): readonly TransportCase[] {
  return [...carrying(), ...keepingPlaces(), ...acknowledging(), ...sharing(), ...separating(), ...refusing()];
}

function carrying(): readonly TransportCase[] {
  return [
    promise('what is published before anybody listens reaches who comes later', async (kit) => {
      const early = await kit.consume();
      await early.stop();
      await kit.publish(kit.open(), [kit.message({ n: 1 }), kit.message({ n: 2 })]);
      const inbox = await kit.consume();
      await kit.until(() => inbox.messages.length === 2, 'both arrive');
    }),
    promise('a message arrives as it was sent: bytes, key, attributes, headers', async (kit) => {
      const inbox = await kit.consume();
      const sent = kit.message({
        key: 'größe/🦜 1',
        headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, 'x-note': 'süß' },
        body: Buffer.from([0, 255, 1, 254, 10, 13]),
      });
      await kit.publish(kit.open(), [sent]);
      await kit.until(() => inbox.messages.length === 1, 'it arrives');
      const [found] = inbox.messages;
      mustEqual(found?.key, sent.key, 'its key');
      mustEqual([...(found?.body ?? [])], [...sent.body], 'its bytes');
      for (const [name, value] of Object.entries(sent.attributes))
        mustEqual(found?.attributes[name], value, `its ${name}`);
      for (const [name, value] of Object.entries(sent.headers)) mustEqual(found?.headers[name], value, `its ${name}`);
    }),
    promise('a message without key, headers and bytes arrives too', async (kit) => {
      const inbox = await kit.consume();
      await kit.publish(kit.open(), [kit.message({ body: new Uint8Array() })]);
      await kit.until(() => inbox.messages.length === 1, 'it arrives');
      mustEqual(inbox.messages[0]?.key, undefined, 'no key');
      mustEqual(inbox.messages[0]?.body.length, 0, 'no bytes');
    }),
  ];
}

function keepingPlaces(): readonly TransportCase[] {
  return [
    promise('messages of a key keep their order', async (kit) => {
      const inbox = await kit.consume();
      const publisher = kit.open();
      const sent = range(COUNT).map((n) => kit.message({ n, key: `k${n % 5}` }));
      for (let at = 0; at < COUNT; at += 50) await kit.publish(publisher, sent.slice(at, at + 50));
      await kit.until(() => inbox.messages.length >= COUNT, 'all arrive');
      for (const remainder of range(5)) {
        const ofKey = inbox.messages.filter(({ key }) => key === `k${remainder}`);
        mustEqual(
          numbersOf(ofKey),
          range(COUNT).filter((n) => n % 5 === remainder),
          `the order of k${remainder}`,
        );
      }
    }),
    promise('each message is found in a place of its own, the same at each arrival', async (kit) => {
      const inbox = await kit.consume({ isHolding: true });
      const publisher = kit.open();
      const twin = kit.message({ n: 1 });
      await kit.publish(publisher, [twin]);
      // As an operator sends it once more: a broker may leave out what it has had before, but not this.
      await kit.publish(publisher, [{ ...twin, resends: 1 }]);
      await kit.until(() => inbox.messages.length > 0, 'the first arrives');
      await inbox.stop();
      const again = await kit.consume();
      await kit.until(() => again.messages.length >= 2, 'both arrive');
      const places = new Set(again.messages.map(({ sourceId }) => sourceId));
      mustEqual(places.size, 2, 'two places');
      must(places.has(inbox.messages[0]?.sourceId ?? ''), 'the place it had before');
    }),
  ];
}

function acknowledging(): readonly TransportCase[] {
  return [
    promise('nothing is acknowledged before it is stored: what was in the hand comes again', async (kit) => {
      const inbox = await kit.consume({ isHolding: true });
      await kit.publish(
        kit.open(),
        range(20).map((n) => kit.message({ n, key: 'one' })),
      );
      await kit.until(() => inbox.messages.length > 0, 'the first arrive');
      await inbox.stop();
      const next = await kit.consume();
      await kit.until(() => new Set(numbersOf(next.messages)).size === 20, 'all of them arrive at the next');
      mustEqual([...new Set(numbersOf(next.messages))], range(20), 'in their order');
    }),
    promise('what is stored does not come again', async (kit) => {
      const inbox = await kit.consume();
      const publisher = kit.open();
      await kit.publish(
        publisher,
        range(20).map((n) => kit.message({ n, key: 'one' })),
      );
      await kit.until(() => inbox.messages.length >= 20, 'all arrive');
      await inbox.stop();
      const next = await kit.consume();
      await kit.publish(publisher, [kit.message({ n: 99, key: 'one' })]);
      await kit.until(() => numbersOf(next.messages).includes(99), 'the new one arrives');
      mustEqual(numbersOf(next.messages), [99], 'nothing else');
    }),
    promise('a consumer that fails to store is told nothing more, and says that it is lost', async (kit) => {
      const transport = kit.open();
      const lost: unknown[] = [];
      const consumption = await transport.consume({
        group: 'mail',
        types: ['order.placed'],
        isDead: false,
        onBatch: async () => {
          throw new Error('not stored');
        },
        onPlace: () => undefined,
        onLost: (error) => void lost.push(error),
      });
      await kit.publish(kit.open(), [kit.message({ n: 1 })]);
      await kit.until(() => lost.length === 1, 'it says so once');
      await consumption.stop();
      const next = await kit.consume();
      await kit.until(() => next.messages.length === 1, 'the message comes again');
    }),
    promise('what starts can be stopped twice', async (kit) => {
      const inbox = await kit.consume();
      await inbox.stop();
      await inbox.stop();
      await inbox.transport.close();
      await inbox.transport.close();
    }),
  ];
}

function sharing(): readonly TransportCase[] {
  return [
    promise('each group gets every message', async (kit) => {
      const [mail, books] = [await kit.consume(), await kit.consume({ group: 'books' })];
      await kit.publish(
        kit.open(),
        range(10).map((n) => kit.message({ n, key: `k${n}` })),
      );
      for (const inbox of [mail, books]) {
        await kit.until(() => new Set(numbersOf(inbox.messages)).size === 10, 'all arrive');
      }
    }),
    promise('consumers of a group have no message twice while nobody fails', async (kit) => {
      const inboxes = [await kit.consume(), await kit.consume()];
      await kit.publish(
        kit.open(),
        range(COUNT).map((n) => kit.message({ n, key: `k${n % 20}` })),
      );
      const all = (): readonly number[] => inboxes.flatMap(({ messages }) => numbersOf(messages));
      await kit.until(() => new Set(all()).size === COUNT, 'all arrive');
      // A consumer that joins moves what another has not acknowledged: those may come again, and are stored once.
      must(all().length < COUNT * 2, 'not everything twice');
    }),
    promise('when one of a group is gone, the others have what it left, in order', async (kit) => {
      const first = await kit.consume({ isHolding: true });
      const second = await kit.consume();
      await kit.publish(
        kit.open(),
        range(60).map((n) => kit.message({ n, key: `k${n % 6}` })),
      );
      await kit.until(() => first.messages.length + second.messages.length > 0, 'something arrives');
      await first.stop();
      await kit.until(() => new Set(numbersOf(second.messages)).size === 60, 'all arrive at the other');
      for (const remainder of range(6)) {
        const ofKey = [...new Set(numbersOf(second.messages.filter(({ key }) => key === `k${remainder}`)))];
        mustEqual(
          ofKey,
          range(60).filter((n) => n % 6 === remainder),
          `the order of k${remainder}`,
        );
      }
    }),
  ];
}

function separating(): readonly TransportCase[] {
  return [
    promise('dead letters go where only those find them who ask for them', async (kit) => {
      const [live, dead] = [await kit.consume(), await kit.consume({ isDead: true })];
      const publisher = kit.open();
      await kit.publish(publisher, [kit.message({ n: 1, isDead: true })]);
      await kit.publish(publisher, [kit.message({ n: 2 })]);
      await kit.until(() => live.messages.length > 0 && dead.messages.length > 0, 'both arrive');
      mustEqual([numbersOf(live.messages), numbersOf(dead.messages)], [[2], [1]], 'each in its place');
    }),
    promise('types of another topic do not arrive', async (kit) => {
      const inbox = await kit.consume({ types: ['invoice.paid'] });
      const other = await kit.consume({ group: 'other' });
      const publisher = kit.open();
      await kit.publish(publisher, [kit.message({ n: 1 })]);
      await kit.publish(publisher, [kit.message({ n: 2, type: 'invoice.paid' })]);
      await kit.until(() => inbox.messages.length > 0 && other.messages.length > 0, 'both arrive');
      mustEqual(numbersOf(inbox.messages), [2], 'what it asked for');
    }),
  ];
}

function refusing(): readonly TransportCase[] {
  return [
    promise(
      'a message that is too large is refused, what follows it in its key too, and the others are out',
      async (kit) => {
        const { tooLarge } = kit.harness;
        if (tooLarge === undefined) return;
        const inbox = await kit.consume();
        const publisher = kit.open();
        const batch = [
          kit.message({ n: 1, key: 'a' }),
          kit.message({ n: 2, key: 'b', body: Buffer.alloc(tooLarge, 32) }),
          kit.message({ n: 4, key: 'c' }),
        ];
        const results = await publisher.publish(batch);
        mustEqual(
          results.map(({ kind }) => kind),
          ['published', 'failed', 'published'],
          'what became of them',
        );
        await kit.until(() => inbox.messages.length >= 2, 'the others arrive');
        must(
          numbersOf(inbox.messages).every((n) => n === 1 || n === 4),
          'only those',
        );
        await kit.publish(publisher, [kit.message({ n: 5, key: 'b' })]);
        await kit.until(() => numbersOf(inbox.messages).includes(5), 'the way is open again');
      },
    ),
  ];
}
