import { expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { CommandEvent, CommandRecord } from './command-record.ts';
import { readCursor, writeCursor } from './event-cursor.ts';
import { streamEvents } from './stream-events.ts';
import { waitFor } from './wait-for.ts';

const ID = '01a1df13-c1a0-7e2b-8f55-90c1d7a3b402';

function command(about: Partial<CommandRecord>): CommandRecord {
  return { commandId: ID, state: 'queued', ...about } as CommandRecord;
}

test('a wait looks ever less often, is over at its time whatever happens, and leaves no timer [S0.7]', async () => {
  const time = virtualTime();
  let looks = 0;
  const find = async (): Promise<CommandRecord> => command({ state: (looks += 1) > 1e6 ? 'done' : 'running' });
  const waited = waitFor(time, find, { timeoutMs: 10_000 });
  await time.advance(9_999);
  expect(looks).toBeLessThan(30);
  await time.advance(1);
  expect(await waited).toMatchObject({ kind: 'timeout', command: { state: 'running' } });
  expect(time.pendingTimers).toBe(0);
});

test('a wait ends with what a command came to, and with the reason of its signal', async () => {
  const time = virtualTime();
  const closedAt = new Date(0);
  for (const [about, kind] of [
    [{ state: 'done', answer: 7 }, 'done'],
    [{ state: 'blocked' }, 'blocked'],
    [{ state: 'dlq' }, 'dlq'],
    [{ state: 'dlq', closedAt }, 'closed'],
    [{ state: 'queued', closedAt }, 'closed'],
  ] as const) {
    expect(await waitFor(time, async () => command(about), {})).toMatchObject({ kind });
  }
  const stop = new AbortController();
  const waiting = waitFor(time, async () => command({}), { signal: stop.signal });
  await time.advance(5);
  stop.abort('enough');
  await expect(waiting).rejects.toBe('enough');
  expect(time.pendingTimers).toBe(0);
});

test('a wait and a stream whose database does not answer end with their signal all the same', async () => {
  const time = virtualTime();
  const stop = new AbortController();
  const never = (): Promise<never> => new Promise(() => undefined);
  const waiting = waitFor(time, never, { signal: stop.signal });
  const reading = streamEvents(time, never, { signal: stop.signal })[Symbol.asyncIterator]().next();
  stop.abort('enough');
  await expect(waiting).rejects.toBe('enough');
  expect(await reading).toMatchObject({ done: true });
});

test('a stream of events that is aborted while it waits is over at once and leaves no timer', async () => {
  const time = virtualTime();
  const events = [1, 2].map((n) => ({ commandId: ID, n }) as CommandEvent);
  const stop = new AbortController();
  const read = async (after: ReadonlyMap<string, number>): Promise<readonly CommandEvent[]> =>
    events.filter(({ n }) => n > (after.get(ID) ?? 0));
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { cursor } of streamEvents(time, read, { signal: stop.signal })) seen.push(cursor);
  })();
  await time.advance(100);
  stop.abort();
  await reading;
  expect({ seen, timers: time.pendingTimers }).toEqual({ seen: [`${ID}.1`, `${ID}.2`], timers: 0 });
});

test('a cursor comes back as it was, and no other text passes for one', () => {
  const places = new Map([
    [ID, 3],
    [ID.replace('b402', 'b403'), 12],
  ]);
  expect(readCursor('events()', writeCursor(places))).toEqual(places);
  for (const wrong of ['x', `${ID}.0`, ID, `${ID}.1  ${ID}.2`, 7])
    expect(() => readCursor('events()', wrong)).toThrow('pass the cursor of an event');
});
