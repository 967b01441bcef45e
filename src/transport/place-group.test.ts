import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { InboundMessage } from './broker.ts';
import { type PlaceEvents, PlaceGroup, type PlaceReader } from './place-group.ts';

function message(sourceId: string): InboundMessage {
  return { sourceId, key: undefined, attributes: { id: sourceId }, headers: {}, body: new Uint8Array() };
}

/** A group that reads these places, what each place reports through, and the batches that are being stored. */
async function readingOf(...places: readonly string[]): Promise<{
  readonly group: PlaceGroup<string, PlaceReader>;
  readonly give: (place: string, id: string) => Promise<void>;
  readonly storing: { readonly id: string; readonly end: PromiseWithResolvers<void> }[];
}> {
  const events = new Map<string, PlaceEvents>();
  const storing: { id: string; end: PromiseWithResolvers<void> }[] = [];
  const group = new PlaceGroup<string, PlaceReader>({
    link: { ended: new Promise<never>(() => undefined), isEnded: false },
    places,
    nameOf: (place) => place,
    readerOf: (place, own) => {
      events.set(place, own);
      return { start: async () => undefined, stop: async () => undefined };
    },
    close: async () => undefined,
    request: {
      group: 'mail',
      types: ['order.placed'],
      isDead: false,
      onBatch: (batch) => {
        const end = Promise.withResolvers<void>();
        storing.push({ id: batch.map(({ sourceId }) => sourceId).join('+'), end });
        return end.promise;
      },
      onPlace: () => undefined,
      onLost: () => undefined,
    },
    effects: virtualTime(),
  });
  await group.start();
  const give = async (place: string, id: string): Promise<void> => events.get(place)?.onBatch([message(id)]);
  return { group, give, storing };
}

test('batches of two places are stored one at a time and in turn: a busy place does not hold up the other [S0.8] [S1.5]', async () => {
  const { group, give, storing } = await readingOf('busy', 'quiet');
  // As a reader does it: the next batch of a place comes when the one before it is stored.
  const busy = (async () => {
    for (const id of ['b1', 'b2', 'b3']) await give('busy', id);
  })();
  const quiet = give('quiet', 'q1');
  const ids = (): string[] => storing.map(({ id }) => id);
  for (const [at, id] of ['b1', 'q1', 'b2', 'b3'].entries()) {
    await expect.poll(ids).toHaveLength(at + 1);
    // Nothing else is stored as long as this one is not: an order of keys would depend on which is quicker.
    expect(ids().at(-1)).toBe(id);
    storing[at]?.end.resolve();
  }
  await Promise.all([busy, quiet]);
  await group.stop();
});

test('a batch that could not be stored tells its own place, and the next of another place is stored [S0.8] [S1.5]', async () => {
  const { group, give, storing } = await readingOf('one', 'other');
  const failing = give('one', 'a');
  const stored = give('other', 'b');
  await expect.poll(() => storing.length).toBe(1);
  storing[0]?.end.reject(new Error('the database is away'));
  await expect(failing).rejects.toThrow('the database is away');
  await expect.poll(() => storing.map(({ id }) => id)).toEqual(['a', 'b']);
  storing[1]?.end.resolve();
  await stored;
  await group.stop();
});
